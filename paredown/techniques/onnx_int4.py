"""4-bit weights in blocks on ONNX Runtime, rounded to nearest."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Applied, ApplyContext, Needs, Option, PlanFacts, Technique
from paredown.models import onnx_export
from paredown.records.artifact import LayerLeft
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step

NAME = "onnx_int4"
WANTED_BLOCK = 32
ALLOWED_BLOCKS = (16, 32, 64, 128, 256)


def propose(plan: PlanFacts) -> Sequence[Proposal | LeftOut]:
    facts = plan.model
    reason = onnx_export.unsupported(facts)
    if reason:
        return (LeftOut(NAME, Rung.FOUR_BIT, reason),)
    block = onnx_export.choose_block_size(facts, WANTED_BLOCK, ALLOWED_BLOCKS)
    if block is None:
        return (LeftOut(NAME, Rung.FOUR_BIT, "no block size divides the input dimension of every matrix"),)
    prediction = Prediction(
        weight_bytes=onnx_export.predicted_bytes(facts, 4, block.size, shares_tied_head=True),
        decode_speed_ratio=onnx_export.decode_ratio_bound(facts, 4, block.size),
        note="ratio of bytes read for a token, if decoding waits for memory only",
    )
    step = Step(NAME, {"block_size": block.size})
    text = f"4-bit weights, one scale for {block.size} of them: under a third of the bytes of 16 bits"
    adjustments = (block.adjustment,) if block.adjustment else ()
    return (Proposal(NAME, Rung.FOUR_BIT, (step,), "onnx-genai", text, prediction=prediction, adjustments=adjustments),)


def apply(context: ApplyContext) -> Applied:
    """Quantize with the builder, which lets a tied embedding read the head by itself at 4 bits."""
    source, block = context.sources["main"], int(context.options.get("block_size") or WANTED_BLOCK)
    onnx_export.build(source.path, context.out, "int4", (f"block_size={block}",), context.report)
    context.report(0.95, "loading the result")
    onnx_export.check_loads(context.out)
    found = onnx_export.check_quantized(context.out, bits=4)
    left = tuple(
        LayerLeft(table, "the builder keeps an untied embedding in fp32", bits=32) for table in found.wide_tables
    )
    return Applied(layers_left=left, notes=(f"{found.layers} matrices of 4 bits, head included",))


TECHNIQUE = Technique(
    name=NAME,
    summary="4-bit weights on ONNX Runtime, rounded to nearest in blocks",
    trade_off=(
        "Weights become 4-bit integers with one fp32 scale for a block: about 5 bits a weight (32 % of bf16 on the "
        "built-in model), decoded 4 to 6 times as fast as bf16 there. It costs quality, most on small models: KL 0.36 "
        "to 0.41 nats and 56 to 66 % equal first choices on the built-in model, whose weights were stored in 4 bits "
        "once already. Rounded to nearest without calibration data; larger models lose less. Not for small models "
        "unless the golden sets say so."
    ),
    rung=Rung.FOUR_BIT,
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
    options=(
        Option(
            "block_size",
            WANTED_BLOCK,
            "weights that share a scale, at most this many. 32: without calibration a 4-bit block must be short to "
            "hold its outliers; 64 saves 10 % of the bytes",
            choices=ALLOWED_BLOCKS,
            changes_numbers=True,
        ),
    ),
)
