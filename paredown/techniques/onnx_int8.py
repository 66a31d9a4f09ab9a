"""8-bit weights in blocks on ONNX Runtime; a tied embedding reads the rows of the quantized head."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Applied, ApplyContext, Needs, Option, PlanFacts, Technique
from paredown.errors import TechniqueError
from paredown.models import onnx_export, onnx_probe, onnx_tied_embedding
from paredown.records.artifact import LayerLeft
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step

NAME = "onnx_int8"
WANTED_BLOCK = 64
ALLOWED_BLOCKS = (16, 32, 64, 128, 256)
LARGEST_DIVERGENCE = 0.25
"""Nats that sharing the table may move the logits on the probe: rounding costs about 0.01, a wrong wire several."""


def propose(plan: PlanFacts) -> Sequence[Proposal | LeftOut]:
    facts = plan.model
    reason = onnx_export.unsupported(facts)
    if reason:
        return (LeftOut(NAME, Rung.EIGHT_BIT, reason),)
    block = onnx_export.choose_block_size(facts, WANTED_BLOCK, ALLOWED_BLOCKS)
    if block is None:
        return (LeftOut(NAME, Rung.EIGHT_BIT, "no block size divides the input dimension of every matrix"),)
    prediction = Prediction(
        weight_bytes=onnx_export.predicted_bytes(facts, 8, block.size, shares_tied_head=True),
        decode_speed_ratio=onnx_export.decode_ratio_bound(facts, 8, block.size),
        note="ratio of bytes read for a token, if decoding waits for memory only; 8-bit arithmetic may do better",
    )
    step = Step(NAME, {"block_size": block.size})
    text = f"8-bit weights, one scale for {block.size} of them: about half the bytes of 16 bits"
    adjustments = (block.adjustment,) if block.adjustment else ()
    return (
        Proposal(NAME, Rung.EIGHT_BIT, (step,), "onnx-genai", text, prediction=prediction, adjustments=adjustments),
    )


def apply(context: ApplyContext) -> Applied:
    """Quantize with the builder, then drop the fp32 copy of a tied embedding."""
    source, block = context.sources["main"], int(context.options.get("block_size") or WANTED_BLOCK)
    onnx_export.build(source.path, context.out, "int8", (f"block_size={block}",), context.report)
    before = onnx_probe.probe_logits(context.out)
    context.report(0.92, "letting the embedding read the quantized head")
    shared = onnx_tied_embedding.share(context.out)
    onnx_export.check_quantized(context.out, bits=8)
    if shared.reason:
        left = LayerLeft(shared.table or "model.embed_tokens.weight", f"stays fp32: {shared.reason}", bits=32)
        return Applied(layers_left=(left,))
    context.report(0.96, "comparing logits before and after")
    divergence = onnx_probe.mean_divergence(before, onnx_probe.probe_logits(context.out))
    if not divergence <= LARGEST_DIVERGENCE:
        raise TechniqueError(f"Sharing the embedding moved the logits by {divergence:.3f} nats: it is wired wrongly.")
    note = (
        f"{shared.table}: the fp32 copy ({shared.saved_bytes / 1e6:.0f} MB) was dropped; the tied embedding reads "
        f"rows of the 8-bit head, which moved the logits by {divergence:.4f} nats on probe tokens"
    )
    return Applied(notes=(note,))


TECHNIQUE = Technique(
    name=NAME,
    summary="8-bit weights on ONNX Runtime, rounded to nearest in blocks",
    trade_off=(
        "Weights become 8-bit integers with one fp32 scale for a block of them, activations are rounded to 8 bits on "
        "the fly, so decoding reads about half the bytes of bf16 (54 % on the built-in model) and runs 3 to 5 times "
        "as fast there. It costs little quality: KL 0.006 (blocks of 32) to 0.010 nats (blocks of 64) and 92 to 96 % "
        "equal first choices on the built-in model; no calibration data. Without a tied head the embedding stays "
        "fp32, and a small model with a large vocabulary saves less. One request is computed at a time: not for many "
        "concurrent users. Not when answers must be bit-identical to the source."
    ),
    rung=Rung.EIGHT_BIT,
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
            "weights that share a scale, at most this many. 64: blocks of 32 lose less (KL 0.006 against 0.010) but "
            "cost 6 % more bytes",
            choices=ALLOWED_BLOCKS,
            changes_numbers=True,
        ),
    ),
)
