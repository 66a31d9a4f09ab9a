"""Artifact formats, one module each: how to recognise a directory and read its stored tensors.

The module of format `onnx-genai` is `onnx_genai`; its constant is FORMAT. Adding one edits no other file.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from paredown.errors import UnknownNameError, UserError
from paredown.models.weights import WeightFormat


def names() -> tuple[str, ...]:
    """Names of all formats that can be read, sorted."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> WeightFormat:
    """The format of that name. Raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("artifact format", name, names())
    found: WeightFormat = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").FORMAT
    return found


def detect(directory: Path) -> str:
    """The name of the format that the directory holds. Raises UserError when none recognises it."""
    for name in names():
        if load(name).recognises(directory):
            return name
    raise UserError(
        f"{directory} holds no model that can be read here (looked for: {', '.join(names())}). "
        "A Hugging Face directory has config.json and *.safetensors."
    )
