"""The same weights in fp32 on ONNX Runtime: an engine change, no bits taken away."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Applied, ApplyContext, Needs, PlanFacts, Technique
from paredown.models import onnx_export
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step

NAME = "onnx_fp32"


def propose(plan: PlanFacts) -> Sequence[Proposal | LeftOut]:
    facts = plan.model
    reason = onnx_export.unsupported(facts)
    if reason:
        return (LeftOut(NAME, Rung.LOSSLESS, reason),)
    prediction = Prediction(
        weight_bytes=onnx_export.predicted_bytes(facts, 32, 0, shares_tied_head=True),
        decode_speed_ratio=onnx_export.decode_ratio_bound(facts, 32, 0),
        note="ratio of bytes read for a token, if decoding waits for memory only",
    )
    step = Step(NAME)
    text = "engine change at equal precision: fp32 holds every value of the checkpoint exactly"
    return (Proposal(NAME, Rung.LOSSLESS, (step,), "onnx-genai", text, prediction=prediction),)


def apply(context: ApplyContext) -> Applied:
    """Convert; no weight is rounded."""
    source = context.sources["main"].path
    onnx_export.build(source, context.out, "fp32", (), context.report)
    context.report(0.95, "loading the result")
    onnx_export.check_loads(context.out)
    return Applied(notes=("weights stored as fp32; arithmetic is fp32, so logits are not bit-identical to bf16",))


TECHNIQUE = Technique(
    name=NAME,
    summary="ONNX Runtime with fp32 weights (lossless engine change)",
    trade_off=(
        "Runs the unchanged weights on ONNX Runtime. Every bf16 or fp16 weight is stored exactly, but arithmetic is "
        "fp32, so answers differ from those of a bf16 reference by its rounding: near, not bit-identical (on the "
        "built-in model KL about 0.001 nats). A 16-bit checkpoint doubles in size, and decoding, which waits for "
        "memory, becomes slower: 0.6 to 0.8 times a bf16 baseline there. It is here to tell what the engine does from "
        "what fewer bits do; seldom the one to ship."
    ),
    rung=Rung.LOSSLESS,
    consumes=("hf",),
    produces="onnx-genai",
    propose=propose,
    apply=apply,
    needs=Needs(
        packages=("onnxruntime_genai", "onnx", "onnx_ir", "torch", "transformers"),
        extra="onnx",
        devices=("cpu",),
        memory_factor=5.0,
    ),
    changes_weights=False,
)
