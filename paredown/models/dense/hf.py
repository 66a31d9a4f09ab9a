"""Hugging Face checkpoints with plain weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from paredown.models import safetensors_header, safetensors_values
from paredown.models.dense import Weights


def weights(directory: Path) -> Weights:
    return {
        entry.name: partial(safetensors_values.read_float32, path, entry)
        for path in safetensors_header.files(directory)
        for entry in safetensors_header.read(path)
        if entry.dtype in safetensors_values.FLOATS
    }
