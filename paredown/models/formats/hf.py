"""Hugging Face directories with plain weights: config.json and safetensors."""

from __future__ import annotations

from pathlib import Path

from paredown.errors import UserError
from paredown.models import configuration, safetensors_header
from paredown.models.weights import StoredTensor, WeightFormat, kind_by_name


def _recognises(directory: Path) -> bool:
    has_weights = any(directory.glob("*.safetensors"))
    return has_weights and configuration.is_there(directory) and not configuration.quantization(directory)


def _read(directory: Path) -> tuple[StoredTensor, ...]:
    files = safetensors_header.files(directory)
    if not files:
        raise UserError(f"{directory} has no *.safetensors files: its weights cannot be read.")
    return tuple(
        StoredTensor(e.name, e.dtype, e.shape, e.elements, e.size_bytes, kind_by_name(e.name, len(e.shape)))
        for file in files
        for e in safetensors_header.read(file)
    )


FORMAT = WeightFormat("hf", _recognises, _read, is_source=True)
