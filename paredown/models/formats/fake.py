"""Scripted models of the fake engine: fake.json says how many bytes its weights are meant to be."""

from __future__ import annotations

from pathlib import Path

from paredown.errors import UserError
from paredown.models import configuration
from paredown.models.weights import MATRIX, StoredTensor, WeightFormat


def _recognises(directory: Path) -> bool:
    return (directory / "fake.json").is_file()


def _read(directory: Path) -> tuple[StoredTensor, ...]:
    script = configuration.read(directory, "fake.json")
    size, parameters = script.get("weight_bytes"), script.get("parameters")
    if not isinstance(size, int) or size <= 0:
        raise UserError(f"{directory}/fake.json needs `weight_bytes`, a positive integer; found {size!r}.")
    elements = parameters if isinstance(parameters, int) and parameters > 0 else size // 2
    return (StoredTensor("weights", f"{8 * size / elements:g} bit", (elements,), elements, size, MATRIX),)


FORMAT = WeightFormat("fake", _recognises, _read, is_source=True)
