"""4-bit weights in groups on OpenVINO, rounded to nearest."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Applied, ApplyContext, Needs, Option, PlanFacts, Technique
from paredown.models import openvino_export
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step

NAME = "openvino_int4"
WANTED_GROUP = 128


def propose(plan: PlanFacts) -> Sequence[Proposal | LeftOut]:
    facts = plan.model
    reason = openvino_export.unsupported(facts)
    if reason:
        return (LeftOut(NAME, Rung.FOUR_BIT, reason),)
    group = openvino_export.choose_group_size(facts, WANTED_GROUP)
    if group is None:
        return (LeftOut(NAME, Rung.FOUR_BIT, "no group size from 16 up divides the input of every matrix"),)
    # A fp16 scale and a 4-bit zero point for each group; embedding and head stay at 8 bits.
    bits = openvino_export.WeightBits(4 + 20 / group.size, 8 + 24 / facts.hidden_size)
    prediction = Prediction(
        weight_bytes=openvino_export.predicted_bytes(facts, bits),
        decode_speed_ratio=openvino_export.decode_ratio_bound(facts, bits),
        note="ratio of bytes read for a token, if decoding waits for memory only",
    )
    text = f"4-bit weights, one scale and zero point for {group.size} of them; embedding and head in 8 bits"
    step = Step(NAME, {"group_size": group.size})
    adjustments = (group.adjustment,) if group.adjustment else ()
    return (Proposal(NAME, Rung.FOUR_BIT, (step,), "openvino", text, prediction=prediction, adjustments=adjustments),)


def apply(context: ApplyContext) -> Applied:
    """Convert and compress; runs in the environment of optimum-intel."""
    group = int(context.options.get("group_size") or WANTED_GROUP)
    extra = ("--group-size", str(group), "--ratio", "1.0", "--group-size-fallback", "error")
    openvino_export.export(context.sources["main"].path, context.out, "int4", extra, context.report)
    sizes = openvino_export.check_types(context.out, ("u4", "i4"), 0.3)
    four = sum(sizes.get(name, 0) for name in ("u4", "i4"))
    return Applied(notes=(f"{four:,} bytes of 4-bit constants; the exporter keeps embedding and head at 8 bits",))


TECHNIQUE = Technique(
    name=NAME,
    summary="4-bit weights on OpenVINO, rounded to nearest in groups",
    trade_off=(
        "Weights of the blocks become 4-bit integers with a scale and zero point for a group; embedding and head stay "
        "at 8 bits. A third of the bytes of bf16 and 2.5 to 3 times its decoding speed on the built-in model, but KL "
        "0.3 nats and 62 to 72 % equal first choices there (whose weights were stored in 4 bits once already). Rounded "
        "to nearest without calibration data; larger models lose less. The first conversion makes an environment of "
        "its own (minutes, about 2 GB). Not for small models unless the golden sets say so."
    ),
    rung=Rung.FOUR_BIT,
    consumes=("hf",),
    produces="openvino",
    propose=propose,
    apply=apply,
    needs=Needs(extra="openvino", devices=("cpu",), memory_factor=4.0),
    options=(
        Option(
            "group_size",
            WANTED_GROUP,
            "weights that share a scale, at most this many; halved until it divides every matrix",
            choices=(16, 32, 64, 128, 256),
            changes_numbers=True,
        ),
    ),
    environment=openvino_export.ENVIRONMENT,
)
