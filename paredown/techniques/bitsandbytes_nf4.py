"""NF4: 4-bit weights at the quantiles of a normal distribution, blocks of 64 (Dettmers et al., arXiv 2305.14314)."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Applied, ApplyContext, Needs, Option, PlanFacts, Technique
from paredown.models import bitsandbytes_checkpoint as checkpoint
from paredown.records.artifact import ModelFacts
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step

NAME = "bitsandbytes_nf4"
PLAIN_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
BLOCK = 64
CPU_ROWS = 32
SCALE_BYTES = 4


def propose(facts: PlanFacts) -> Sequence[Proposal | LeftOut]:
    """One proposal: every linear layer except the head, one fp32 scale for 64 weights."""
    model = facts.model
    if model.dtype not in PLAIN_BYTES:
        return [LeftOut(NAME, Rung.FOUR_BIT, f"it reads 16- or 32-bit weights; these are {model.dtype}")]
    weights, _ = checkpoint.linear_weights(model)
    if weights < model.active_parameters / 10:
        return [LeftOut(NAME, Rung.FOUR_BIT, "hardly any weight is in linear layers that bitsandbytes takes")]
    odd = [s for s in model.linears if not checkpoint.is_left(s.name) and s.rows % CPU_ROWS]
    if odd and not facts.machine.accelerators:
        reason = f"its CPU kernel takes rows in blocks of {CPU_ROWS}, and {odd[0].name} has {odd[0].rows}"
        return [LeftOut(NAME, Rung.FOUR_BIT, reason)]
    small = _weight_bytes(model, weights)
    plain = PLAIN_BYTES[model.dtype]
    saved = weights * (plain - 0.5 - SCALE_BYTES / BLOCK)
    read = model.active_parameters * plain
    return [
        Proposal(
            name=NAME,
            rung=Rung.FOUR_BIT,
            steps=(Step(NAME, {"double_quantization": False}),),
            format="bitsandbytes",
            reason=f"4-bit weights for {weights / model.parameters:.0%} of the parameters, blocks of {BLOCK}",
            prediction=Prediction(
                weight_bytes=small,
                decode_speed_ratio=read / (read - min(saved, 0.9 * read)),
                note="speed if reading the weights were all that decoding costs: an upper limit",
            ),
        )
    ]


def _weight_bytes(model: ModelFacts, weights: int) -> int:
    """Half a byte a quantized weight, one fp32 scale a block, the rest as it was."""
    return weights // 2 + SCALE_BYTES * (weights // BLOCK) + PLAIN_BYTES[model.dtype] * (model.parameters - weights)


def apply(context: ApplyContext) -> Applied:
    import torch

    settings = {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": bool(context.options["double_quantization"]),
        "bnb_4bit_compute_dtype": torch.bfloat16,
    }
    left = checkpoint.write(
        context.sources["main"].path, context.out, settings, device=context.devices[0], report=context.report
    )
    return Applied(layers_left=left)


TECHNIQUE = Technique(
    name=NAME,
    summary="NF4 of bitsandbytes: 4-bit linear layers without calibration",
    trade_off=(
        "Brings the linear layers to 4.5 bits a weight (4.1 with double quantization) in seconds and without "
        "calibration data; computing stays in bf16. The loss is real: small models change their answers noticeably. "
        "Embedding and head stay in 16 bits. Weights are unpacked for every multiplication, so with many concurrent "
        "requests it is slower than 16 bits. Use it for memory, or as the base of an adapter; calibrated 4 bits "
        "(GPTQ, AWQ) lose less."
    ),
    rung=Rung.FOUR_BIT,
    consumes=("hf",),
    produces="bitsandbytes",
    propose=propose,
    apply=apply,
    needs=Needs(packages=("torch", "transformers", "accelerate", "bitsandbytes"), extra="bitsandbytes"),
    options=(
        Option(
            "double_quantization",
            default=False,
            help="quantize the scales as well: 0.37 bits a weight less, slightly less exact",
            changes_numbers=True,
        ),
    ),
)
