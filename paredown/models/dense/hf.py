"""Hugging Face checkpoints with plain weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paredown.models import safetensors_header, safetensors_values
from paredown.models.dense import Weights


def weights(directory: Path) -> Weights:
    def reader(path: Path, name: str) -> Callable[[], Any]:
        return lambda: safetensors_values.read_float32(path, name)

    return {
        entry.name: reader(path, entry.name)
        for path in safetensors_header.files(directory)
        for entry in safetensors_header.read(path)
        if entry.dtype in safetensors_values.FLOATS
    }
