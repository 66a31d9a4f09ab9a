"""ONNX directories of onnxruntime-genai: plain initializers, and MatMulNBits in blocks of 4 or 8 bits.

MatMulNBits (onnxruntime's ContribOperators.md): B is (N, blocks, bytes of a block), in a byte with two 4-bit values
the first is in the lower half; scales (N, blocks); zero points packed likewise, 2^(bits−1) where there are none. The
builder merges the query, key and value matrices by rows; the sizes in genai_config.json take them apart. Its plain
matrices are transposed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.models.dense import Weights
from paredown.models.formats import onnx_genai

MATRIX = re.compile(r"^/(?:(?P<path>model/layers\.\d+)/(?P<part>attn|mlp)/(?P<name>\w+)|lm_head)/MatMul(_Q\d+)?$")
NORM = re.compile(r"^model\.layers\.\d+\.(input|post_attention)_layernorm\.weight$")
TABLE = "/model/embed_tokens/Gather"
PLAIN = "MatMul"
PACKED = "MatMulNBits"


@dataclass(frozen=True)
class _Heads:
    """Rows of the query, and of the key and the value matrix."""

    query: int
    key: int


class _Model:
    """Nodes and initializers; an initializer's data are read when they are asked for."""

    def __init__(self, directory: Path) -> None:
        self._graph = onnx_genai.graph_of(directory / "model.onnx")
        self._directory = directory
        self._initializers = {one.name: one for one in self._graph.initializer}

    def nodes(self) -> Any:
        return self._graph.node

    def has(self, name: str) -> bool:
        return name in self._initializers

    def names(self) -> tuple[str, ...]:
        return tuple(self._initializers)

    def read(self, name: str) -> Any:
        from onnx import numpy_helper

        return numpy_helper.to_array(self._initializers[name], base_dir=str(self._directory))


def weights(directory: Path) -> Weights:
    model, heads = _Model(directory), _heads(directory)
    found: dict[str, Callable[[], Any]] = {}
    for node in model.nodes():
        match = MATRIX.match(node.name) if node.op_type in (PLAIN, PACKED) else None
        if match is not None and model.has(node.input[1]):
            found |= _readers(match, node, model, heads)
        elif node.name == TABLE and model.has(node.input[0]):
            found["model.embed_tokens.weight"] = _plain(model, node.input[0], transposed=False)
    if "model.embed_tokens.weight" not in found and "lm_head.weight" in found:
        # A tied table: the embedding gathers rows of the (quantized) head.
        found["model.embed_tokens.weight"] = found["lm_head.weight"]
    found |= {name: _plain(model, name, transposed=False) for name in model.names() if NORM.match(name)}
    return found


def _heads(directory: Path) -> _Heads:
    path = directory / "genai_config.json"
    try:
        decoder = json.loads(path.read_text(encoding="utf-8"))["model"]["decoder"]
        size = int(decoder["head_size"])
        return _Heads(int(decoder["num_attention_heads"]) * size, int(decoder["num_key_value_heads"]) * size)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} does not say the sizes of the attention heads ({error}).") from error


def _readers(match: re.Match[str], node: Any, model: _Model, heads: _Heads) -> dict[str, Callable[[], Any]]:
    whole = _packed(model, node) if node.op_type == PACKED else _plain(model, node.input[1], transposed=True)
    if match["path"] is None:
        return {"lm_head.weight": whole}
    block, part = match["path"].replace("/", "."), {"attn": "self_attn"}.get(match["part"], match["part"])
    if match["name"] != "qkv_proj":
        return {f"{block}.{part}.{match['name']}.weight": whole}
    ends = {"q_proj": (0, heads.query), "k_proj": (heads.query, heads.query + heads.key)}
    ends["v_proj"] = (ends["k_proj"][1], ends["k_proj"][1] + heads.key)
    return {f"{block}.{part}.{name}.weight": _rows(whole, *span) for name, span in ends.items()}


def _rows(whole: Callable[[], Any], begin: int, end: int) -> Callable[[], Any]:
    return lambda: whole()[begin:end]


def _plain(model: _Model, name: str, *, transposed: bool) -> Callable[[], Any]:
    def read() -> Any:
        import numpy as np

        values = model.read(name).astype(np.float32)
        return values.T if transposed else values

    return read


def _packed(model: _Model, node: Any) -> Callable[[], Any]:
    sizes = {attribute.name: attribute.i for attribute in node.attribute}
    rows, columns, bits = sizes["N"], sizes["K"], sizes.get("bits", 4)
    inputs = list(node.input)

    def read() -> Any:
        import numpy as np

        values = _unpacked(model.read(inputs[1]).reshape(rows, -1), bits).reshape(rows, -1, sizes["block_size"])
        scales = model.read(inputs[2]).astype(np.float32).reshape(rows, -1, 1)
        zero: Any = np.float32(1 << (bits - 1))
        if len(inputs) > 3 and inputs[3]:
            zero = _unpacked(model.read(inputs[3]).reshape(rows, -1), bits)[:, : scales.shape[1], None]
        return ((values - zero) * scales).reshape(rows, -1)[:, :columns]

    return read


def _unpacked(stored: Any, bits: int) -> Any:
    """float32 values from bytes (rows, bytes). Raises UserError for another width than 4 or 8."""
    import numpy as np

    if bits == 8:
        return stored.astype(np.float32)
    if bits != 4:
        raise UserError(f"its matrices have {bits} bits; those of 4 and 8 can be read back")
    return np.stack([stored & 15, stored >> 4], axis=-1).reshape(len(stored), -1).astype(np.float32)
