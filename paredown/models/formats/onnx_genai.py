"""ONNX models for onnxruntime-genai: the graph is read, the external data are not.

Packed matrices are told by the operator that reads them: `MatMulNBits` (attributes K, N, bits) and
`GatherBlockQuantized` of the `com.microsoft` domain. Source: onnxruntime, docs/ContribOperators.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paredown.errors import MissingPackageError, UserError
from paredown.models.weights import EMBEDDING, HEAD, HEAD_NAME, MATRIX, OTHER, SCALE, StoredTensor, WeightFormat

PASSING_ON = ("Reshape", "Transpose", "Cast", "Identity", "DequantizeLinear")
INDEX_TYPES = ("INT64", "INT32", "BOOL")
GATHERING = ("Gather", "GatherBlockQuantized")
MULTIPLYING = ("MatMul", "Gemm", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")


@dataclass
class _Use:
    """How the graph uses one initializer. `bits`, `elements`: of a packed matrix, 0 when it is not packed."""

    kinds: set[str] = field(default_factory=set)
    bits: int = 0
    elements: int = 0


def _recognises(directory: Path) -> bool:
    return (directory / "genai_config.json").is_file()


def graph_of(path: Path) -> Any:
    """The graph of an ONNX file, without the data of its initializers. Raises UserError when it cannot be read."""
    try:
        import onnx
    except ImportError as error:
        raise MissingPackageError("Reading an ONNX model", "onnx", "pip install 'paredown[onnx]'") from error
    try:
        return onnx.load(str(path), load_external_data=False).graph
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as an ONNX model ({error}). Make or copy it again.") from error
    except Exception as error:
        # protobuf's DecodeError is not importable by one name over its versions
        if type(error).__name__ != "DecodeError":
            raise
        raise UserError(f"{path} is damaged: it is not a readable ONNX model. Make or copy it again.") from error


def _read(directory: Path) -> tuple[StoredTensor, ...]:
    graph = graph_of(directory / _file_name(directory))
    import onnx

    uses = _uses(graph)
    seen: set[object] = set()
    found = []
    for tensor in graph.initializer:
        place, size = _place(directory, tensor)
        if place not in seen:
            seen.add(place)
            dtype = onnx.TensorProto.DataType.Name(tensor.data_type)
            found.append(_stored(tensor, dtype, size, uses.get(tensor.name, _Use())))
    # Integers that no operator reads as a weight are shapes and axes.
    return tuple(tensor for tensor in found if tensor.kind != OTHER or tensor.dtype not in INDEX_TYPES)


def _file_name(directory: Path) -> str:
    try:
        config = json.loads((directory / "genai_config.json").read_text(encoding="utf-8"))
        return str(config["model"]["decoder"]["filename"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{directory}/genai_config.json does not name the model's file ({error!r}).") from error


def _place(directory: Path, tensor: Any) -> tuple[object, int]:
    """Where the data lie (equal places are one tensor) and how many bytes they are."""
    facts = {entry.key: entry.value for entry in tensor.external_data}
    if not facts:
        size = len(tensor.raw_data) or tensor.ByteSize()
        return tensor.name, size
    file = directory / facts["location"]
    offset, length = int(facts.get("offset", 0)), int(facts.get("length", 0))
    if not file.is_file() or file.stat().st_size < offset + length:
        raise UserError(f"{file} is missing or too short for {tensor.name!r}. Make or copy the model again.")
    return (facts["location"], offset), length or file.stat().st_size - offset


def _stored(tensor: Any, dtype: str, size: int, use: _Use) -> StoredTensor:
    shape = tuple(tensor.dims)
    elements = use.elements or math.prod(shape)
    if use.bits:
        dtype, elements = f"UINT{use.bits}", elements if use.elements else size * 8 // use.bits
    # Scales first: an embedding that shares the head's blocks gathers their scales as well.
    kind = next((kind for kind in (SCALE, EMBEDDING, HEAD, MATRIX) if kind in use.kinds), OTHER)
    return StoredTensor(tensor.name, dtype, shape, elements, size, kind)


def _uses(graph: Any) -> dict[str, _Use]:
    """Initializer → how it is used, looking through operators that only pass it on (in graph order)."""
    origin = {tensor.name: tensor.name for tensor in graph.initializer}
    uses: dict[str, _Use] = {name: _Use() for name in origin}
    for node in graph.node:
        if node.op_type in PASSING_ON and node.input and node.input[0] in origin:
            origin[node.output[0]] = origin[node.input[0]]
        for name, kind in _roles(node):
            if name in origin:
                _note(uses[origin[name]], kind, node)
    return uses


def _roles(node: Any) -> Iterator[tuple[str, str]]:
    """(input, kind) for each input of the node that can be a weight."""
    inputs = list(node.input)
    weight_kind = HEAD if HEAD_NAME.search(node.name) else MATRIX
    if node.op_type in GATHERING:
        yield inputs[0], EMBEDDING
        yield from ((name, SCALE) for name in inputs[2:])
    elif node.op_type == "MatMulNBits":
        yield inputs[1], weight_kind
        yield from ((name, SCALE) for name in inputs[2:] if name)
    elif node.op_type in MULTIPLYING:
        yield from ((name, weight_kind) for name in inputs[:2])
    elif node.op_type == "DequantizeLinear":
        yield from ((name, SCALE) for name in inputs[1:])


def _note(use: _Use, kind: str, node: Any) -> None:
    use.kinds.add(kind)
    if kind == SCALE:
        return
    numbers = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "MatMulNBits":
        use.bits, use.elements = numbers["bits"], numbers["K"] * numbers["N"]
    elif node.op_type == "GatherBlockQuantized" and not use.bits:
        use.bits = numbers.get("bits", 4)


FORMAT = WeightFormat("onnx-genai", _recognises, _read)
