"""OpenVINO models: the constants that openvino_model.xml places in openvino_model.bin; no data are read.

A constant is a matrix when a MatMul reads it and an embedding when a Gather does, looked up through the operators
that decompress it (Convert, Subtract, Multiply, Reshape): the first input of each is the weight, the second a zero
point or a scale. Integer constants that none of them reads are shapes and axes, not weights, and are not counted.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

from paredown.errors import UserError
from paredown.models.weights import EMBEDDING, HEAD, HEAD_NAME, MATRIX, OTHER, SCALE, StoredTensor, WeightFormat

SCALING = ("Subtract", "Multiply")
INDEX_TYPES = ("I64", "I32", "BOOLEAN")
DECOMPRESSING = ("Convert", "Subtract", "Multiply", "Reshape", "Transpose", "FakeConvert")
Layers = Mapping[str, ET.Element]
Inputs = Mapping[tuple[str, str], str]


def _recognises(directory: Path) -> bool:
    return (directory / "openvino_model.xml").is_file()


def _read(directory: Path) -> tuple[StoredTensor, ...]:
    path, data = directory / "openvino_model.xml", directory / "openvino_model.bin"
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - a local file; expat limits entity expansion
    except (OSError, ET.ParseError) as error:
        raise UserError(f"{path} cannot be read ({error}). Make or copy the model again.") from error
    layers = {layer.attrib["id"]: layer for layer in root.iterfind("layers/layer")}
    inputs = {
        (edge.attrib["to-layer"], edge.attrib["to-port"]): edge.attrib["from-layer"]
        for edge in root.iterfind("edges/edge")
    }
    kinds = _kinds(layers, inputs)
    size = data.stat().st_size if data.is_file() else -1
    found: dict[int, StoredTensor] = {}
    for number, layer in layers.items():
        if layer.attrib["type"] == "Const":
            offset, tensor = _constant(layer, kinds.get(number, OTHER))
            if offset + tensor.size_bytes > size:
                raise UserError(f"{data} is missing or too short for {tensor.name!r}. Make or copy the model again.")
            if tensor.kind == OTHER and tensor.dtype in INDEX_TYPES:
                continue
            earlier = found.get(offset)
            if earlier is None or tensor.size_bytes > earlier.size_bytes:
                found[offset] = tensor
    return tuple(found.values())


def _constant(layer: ET.Element, kind: str) -> tuple[int, StoredTensor]:
    facts = _data(layer)
    shape = tuple(int(part) for part in facts.get("shape", "").split(",") if part.strip())
    name, dtype = layer.attrib["name"], facts["element_type"].upper()
    return int(facts["offset"]), StoredTensor(name, dtype, shape, math.prod(shape), int(facts["size"]), kind)


def _data(layer: ET.Element) -> Mapping[str, str]:
    data = layer.find("data")
    return {} if data is None else data.attrib


def _kinds(layers: Layers, inputs: Inputs) -> dict[str, str]:
    """Constant (layer id) → kind. An embedding that is also the head stays an embedding."""
    kinds: dict[str, str] = {}
    for number, layer in layers.items():
        kind = layer.attrib["type"]
        if kind == "MatMul":
            weight = HEAD if HEAD_NAME.search(layer.attrib["name"]) else MATRIX
            for port in ("0", "1"):
                _mark(layers, inputs, inputs.get((number, port)), weight, kinds)
        elif kind == "Gather":
            _mark(layers, inputs, inputs.get((number, "0")), EMBEDDING, kinds)
    return kinds


def _mark(layers: Layers, inputs: Inputs, number: str | None, kind: str, kinds: dict[str, str]) -> None:
    """Follow first inputs down to the constant; constants on the second inputs passed by are scales."""
    scales = []
    while number is not None and layers[number].attrib["type"] in DECOMPRESSING:
        if layers[number].attrib["type"] in SCALING:
            scales.append(inputs.get((number, "1")))
        number = inputs.get((number, "0"))
    if number is None or layers[number].attrib["type"] != "Const" or not _is_matrix(layers[number]):
        return
    if kinds.get(number) != EMBEDDING:
        kinds[number] = kind
    for scale in (_origin(layers, inputs, scale) for scale in scales):
        if scale is not None and layers[scale].attrib["type"] == "Const":
            kinds.setdefault(scale, SCALE)


def _origin(layers: Layers, inputs: Inputs, number: str | None) -> str | None:
    while number is not None and layers[number].attrib["type"] in DECOMPRESSING:
        number = inputs.get((number, "0"))
    return number


def _is_matrix(layer: ET.Element) -> bool:
    sizes = [int(part) for part in _data(layer).get("shape", "").split(",") if part.strip()]
    return sum(size > 1 for size in sizes) >= 2


FORMAT = WeightFormat("openvino", _recognises, _read)
