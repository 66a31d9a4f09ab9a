"""The same weights in 16 bits on OpenVINO: an engine change."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Applied, ApplyContext, Needs, PlanFacts, Technique
from paredown.models import openvino_export
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step

NAME = "openvino_fp16"
BITS = openvino_export.WeightBits(blocks=16, tables=16)


def propose(plan: PlanFacts) -> Sequence[Proposal | LeftOut]:
    facts = plan.model
    reason = openvino_export.unsupported(facts)
    if reason:
        return (LeftOut(NAME, Rung.LOSSLESS, reason),)
    prediction = Prediction(
        weight_bytes=openvino_export.predicted_bytes(facts, BITS),
        decode_speed_ratio=openvino_export.decode_ratio_bound(facts, BITS),
        note="ratio of bytes read for a token, if decoding waits for memory only",
    )
    text = "engine change at equal precision: 16 bits a weight"
    return (Proposal(NAME, Rung.LOSSLESS, (Step(NAME),), "openvino", text, prediction=prediction),)


def apply(context: ApplyContext) -> Applied:
    """Convert; runs in the environment of optimum-intel."""
    openvino_export.export(context.sources["main"].path, context.out, "fp16", (), context.report)
    openvino_export.check_types(context.out, ("f16",), 0.9)
    return Applied(notes=("weights stored as fp16; not bit-identical to a bf16 checkpoint",))


TECHNIQUE = Technique(
    name=NAME,
    summary="OpenVINO with fp16 weights (lossless engine change)",
    trade_off=(
        "Runs the weights in 16 bits on OpenVINO: same size, 1.7 to 2 times the decoding speed of the transformers "
        "baseline on the built-in model. For an fp16 checkpoint the weights are unchanged. A bf16 checkpoint is stored "
        "as fp16, which holds values from 6e-5 to 65,504 exactly and rounds smaller ones, and arithmetic rounds "
        "otherwise, so answers are near (KL about 0.001 nats there) but not bit-identical. The first conversion makes "
        "an environment of its own (minutes, about 2 GB)."
    ),
    rung=Rung.LOSSLESS,
    consumes=("hf",),
    produces="openvino",
    propose=propose,
    apply=apply,
    needs=Needs(extra="openvino", devices=("cpu",), memory_factor=4.0),
    environment=openvino_export.ENVIRONMENT,
    changes_weights=False,
)
