"""LLM.int8: 8-bit weights and activations with outliers kept in 16 bits (Dettmers et al., arXiv 2208.07339)."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Applied, ApplyContext, Needs, Option, PlanFacts, Technique
from paredown.models import bitsandbytes_checkpoint as checkpoint
from paredown.records.artifact import ModelFacts
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step

NAME = "bitsandbytes_int8"
BATCHES_DIFFER = (
    "outliers are looked for in the whole batch, so log-probabilities scored in a batch are not quite those of a "
    "served answer (same first choice at 95 % of positions on the built-in model): read its slices with caution"
)
PLAIN_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
SCALE_BYTES = 4


def propose(facts: PlanFacts) -> Sequence[Proposal | LeftOut]:
    """One proposal: every linear layer except the head, scales per row."""
    model = facts.model
    if model.dtype not in PLAIN_BYTES:
        return [LeftOut(NAME, Rung.EIGHT_BIT, f"it reads 16- or 32-bit weights; these are {model.dtype}")]
    weights, rows = checkpoint.linear_weights(model)
    if weights < model.active_parameters / 10:
        return [LeftOut(NAME, Rung.EIGHT_BIT, "hardly any weight is in linear layers that bitsandbytes takes")]
    return [
        Proposal(
            name=NAME,
            rung=Rung.EIGHT_BIT,
            steps=(Step(NAME, {"outlier_threshold": 6.0}),),
            format="bitsandbytes",
            reason=f"8-bit weights for {weights / model.parameters:.0%} of the parameters, outliers in 16 bits",
            prediction=Prediction(
                weight_bytes=_weight_bytes(model, weights, rows),
                note="no claim about speed: its extra work per layer often outweighs the bytes saved",
            ),
            adjustments=(BATCHES_DIFFER,),
        )
    ]


def _weight_bytes(model: ModelFacts, weights: int, rows: int) -> int:
    """One byte a quantized weight, one fp32 scale a row, the rest as it was."""
    return weights + SCALE_BYTES * rows + PLAIN_BYTES[model.dtype] * (model.parameters - weights)


def apply(context: ApplyContext) -> Applied:
    settings = {"load_in_8bit": True, "llm_int8_threshold": float(context.options["outlier_threshold"] or 0.0)}
    left = checkpoint.write(
        context.sources["main"].path, context.out, settings, device=context.devices[0], report=context.report
    )
    return Applied(layers_left=left)


TECHNIQUE = Technique(
    name=NAME,
    summary="LLM.int8 of bitsandbytes: 8-bit linear layers, outliers of the activations in 16 bits",
    trade_off=(
        "Halves the linear layers at nearly no loss of quality, without calibration data and in seconds. Embedding "
        "and head stay in 16 bits, so small models with a large vocabulary shrink less. It saves memory, not time: "
        "splitting off the outliers makes each layer slower than plain 16 bits on most hardware, on a CPU always. Use "
        "it when the model must fit and speed does not matter; else take an engine with 8-bit kernels of its own."
    ),
    rung=Rung.EIGHT_BIT,
    consumes=("hf",),
    produces="bitsandbytes",
    propose=propose,
    apply=apply,
    needs=Needs(packages=("torch", "transformers", "accelerate", "bitsandbytes"), extra="bitsandbytes"),
    options=(
        Option(
            "outlier_threshold",
            6.0,
            "activations larger than this are multiplied in 16 bits; 0 = none are",
            changes_numbers=True,
        ),
    ),
)
