"""The weights of an artifact as plain float32 matrices, whatever its format: one module a format.

The module of format `onnx-genai` is `onnx_genai`; its function `weights(directory)` maps the names of a Hugging Face
checkpoint (`model.layers.0.mlp.up_proj.weight`) to functions that read one matrix each, so that no more than one need
be in memory. What a format merges is taken apart again. Numpy is imported where it is used.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paredown.errors import UserError

Weights = Mapping[str, Callable[[], Any]]
"""Name → reader of a float32 array with the shape that the source model has."""


def names() -> tuple[str, ...]:
    """Formats whose weights can be read back."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)))


def weights(directory: Path, format_name: str) -> Weights:
    """The readers of an artifact. Raises UserError for a format that cannot be read back, or damaged files."""
    if format_name not in names():
        raise UserError(
            f"the weights of the format {format_name!r} cannot be read back (those of {', '.join(names())} can)"
        )
    module = importlib.import_module(f"{__name__}.{format_name.replace('-', '_')}")
    found: Weights = module.weights(directory)
    return found
