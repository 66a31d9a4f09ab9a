"""Write a checkpoint that bitsandbytes quantized, ready to be opened by transformers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paredown.errors import TechniqueError
from paredown.models.companions import copy_companions
from paredown.records.artifact import LayerLeft, ModelFacts

Report = Callable[[float, str], None]


def write(source: Path, out: Path, settings: dict[str, Any], *, device: str, report: Report) -> tuple[LayerLeft, ...]:
    """Quantize the model of `source` while it is loaded and save it; the layers that stayed as they were.

    settings: arguments of `BitsAndBytesConfig`
    Raises TechniqueError when not one layer was changed.
    """
    report(0.05, "importing transformers")
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    report(0.15, "loading and quantizing the weights")
    model = AutoModelForCausalLM.from_pretrained(
        source, quantization_config=BitsAndBytesConfig(**settings), dtype="auto", device_map={"": device}
    )
    changed, left = _layers(model)
    if not changed:
        raise TechniqueError("Nothing was optimized: bitsandbytes changed none of the model's linear layers.")
    report(0.8, f"writing {changed} quantized layers")
    # Before any forward pass: on CPUs with AVX-512 BF16 that repacks the scales in place (bitsandbytes 0.50), and
    # what is saved afterwards is not the model any more.
    model.save_pretrained(out)
    copy_companions(source, out)
    return left


def linear_weights(facts: ModelFacts) -> tuple[int, int]:
    """Weights and rows of all linear layers that bitsandbytes takes (the head is left)."""
    taken = [shape for shape in facts.linears if not is_left(shape.name)]
    weights = sum(shape.rows * shape.columns * shape.count for shape in taken)
    return weights, sum(shape.rows * shape.count for shape in taken)


def is_left(name: str) -> bool:
    """Whether a family of layers stays as it is: the head, and experts, which transformers fuses into one tensor."""
    return name.startswith(("lm_head", "embed_out")) or "experts" in name


def _layers(model: Any) -> tuple[int, tuple[LayerLeft, ...]]:
    """How many layers were quantized, and those that were not with the reason."""
    import bitsandbytes
    import torch

    head, table = model.get_output_embeddings(), model.get_input_embeddings()
    tied = head is not None and table is not None and head.weight is table.weight
    changed, left = 0, []
    for name, module in model.named_modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit | bitsandbytes.nn.Linear8bitLt):
            changed += 1
        elif module is head:
            reason = "it is the embedding table (tied)" if tied else "the head decides the token: kept by transformers"
            left.append(LayerLeft(name, reason, _bits(module.weight)))
        elif module is table:
            left.append(LayerLeft(name, "bitsandbytes quantizes linear layers, not tables", _bits(module.weight)))
        elif isinstance(module, torch.nn.Linear):
            left.append(LayerLeft(name, "transformers excludes it from quantization", _bits(module.weight)))
    return changed, tuple(left)


def _bits(weight: Any) -> float:
    return 8.0 * float(weight.element_size())
