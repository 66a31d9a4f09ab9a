"""OpenVINO models: constants that are stored plain, or as integers with scale and zero point in groups.

The exporter keeps the names of the checkpoint (`self.model.layers.0.mlp.up_proj…weight`, `…/scale`, `…/zero_point`).
Norms are folded into other constants and are not given back; they are not quantized either. In a byte with two 4-bit
values the first is in the lower half.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.models.dense import Weights

NAME = re.compile(r"^self\.(?P<path>.+?)\.(?:_openvino_orig_)?weight$")
NUMPY = {"f32": "<f4", "f16": "<f2", "bf16": "<u2", "u8": "u1", "i8": "i1"}


@dataclass(frozen=True)
class _Constant:
    type: str
    shape: tuple[int, ...]
    offset: int
    size: int


def weights(directory: Path) -> Weights:
    path, data = directory / "openvino_model.xml", directory / "openvino_model.bin"
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - a local file; expat limits entity expansion
    except (OSError, ET.ParseError) as error:
        raise UserError(f"{path} cannot be read ({error}). Make or copy the model again.") from error
    constants = {
        layer.attrib["name"]: _constant(layer.find("data"))
        for layer in root.iterfind("layers/layer")
        if layer.attrib["type"] == "Const" and layer.find("data") is not None
    }

    def reader(name: str) -> Callable[[], Any]:
        return lambda: _dense(data, name, constants)

    return {
        f"{match['path']}.weight": reader(name)
        for name, constant in constants.items()
        if (match := NAME.match(name)) and (constant.type in NUMPY or constant.type in ("u4", "i4"))
    }


def _constant(data: ET.Element | None) -> _Constant:
    assert data is not None
    facts = data.attrib
    shape = tuple(int(part) for part in facts.get("shape", "").split(",") if part.strip())
    return _Constant(facts["element_type"], shape, int(facts["offset"]), int(facts["size"]))


def _dense(data: Path, name: str, constants: Mapping[str, _Constant]) -> Any:
    """(value − zero point) × scale; groups of the last dimensions joined again: shape (rows, columns)."""
    values = _read(data, constants[name])
    zero, scale = constants.get(f"{name}/zero_point"), constants.get(f"{name}/scale")
    if zero is not None:
        values = values - _read(data, zero)
    if scale is not None:
        values = values * _read(data, scale)
    return values.reshape(values.shape[0], -1) if values.ndim > 1 else values


def _read(data: Path, constant: _Constant) -> Any:
    """float32, in the shape of the constant."""
    import numpy as np

    with data.open("rb") as stream:
        stream.seek(constant.offset)
        raw = stream.read(constant.size)
    if constant.type in ("u4", "i4"):
        packed = np.frombuffer(raw, np.uint8)
        values = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[: math.prod(constant.shape)].astype(np.int8)
        if constant.type == "i4":
            values = np.where(values > 7, values - 16, values)
        return values.astype(np.float32).reshape(constant.shape)
    values = np.frombuffer(raw, NUMPY[constant.type]).reshape(constant.shape)
    if constant.type == "bf16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32)
