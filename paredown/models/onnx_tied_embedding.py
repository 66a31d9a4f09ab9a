"""Let the token embedding of an ONNX model read the rows of its quantized, tied output head.

The builder of onnxruntime-genai writes a tied matrix twice at 8 bits: quantized for the head, and whole in fp32 for
the embedding (its own rewrite exists for 4 bits only). On a small model the second copy is most of the file. The rows
of the quantized head hold the same numbers to within half a quantization step, so the table is dropped and

    Gather(table, ids)   becomes   Reshape((Cast(Gather(q, ids)) − zero) · Gather(scales, ids))

with standard operators only. q is uint8 [V, K/block, block], scales float32 [V, K/block], zero = 128. Nothing is
rewritten unless every row of the table equals its dequantized row to within half a step: that proves that head and
embedding are tied. The head must be symmetric (no zero points), of 8 bits, and not padded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "model.onnx"
DATA = "model.onnx.data"
ZERO_POINT = 128
ROWS_AT_ONCE = 4096
ALIGNMENT = 64
COPY_BYTES = 1 << 24


@dataclass(frozen=True)
class TiedEmbedding:
    """What was done. `reason` is empty when the table was dropped, else it says why it was left."""

    table: str
    saved_bytes: int
    largest_step: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class _Found:
    gather: Any
    head: Any
    table: Any
    quantized: Any
    scales: Any


class _Unfit(Exception):
    """The graph is not the one that this rewrite knows; the message is the reason in the record."""


def share(directory: Path) -> TiedEmbedding:
    """Rewrite `directory`/model.onnx in place. Leaves it untouched, with the reason, when it is not as expected."""
    import onnx

    path = directory / MODEL
    model = onnx.load(str(path), load_external_data=False)
    table = ""
    try:
        found = _find(model.graph)
        table = found.table.name
        largest_step = _check_tied(found, directory)
    except _Unfit as unfit:
        return TiedEmbedding(table, 0, reason=str(unfit))
    before = (directory / DATA).stat().st_size
    _rewire(model.graph, found)
    _write_without(model, directory)
    return TiedEmbedding(table, before - (directory / DATA).stat().st_size, largest_step)


def _find(graph: Any) -> _Found:
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    gathers = [
        n for n in graph.node if n.op_type == "Gather" and n.input[1] == "input_ids" and n.input[0] in initializers
    ]
    if len(gathers) != 1:
        raise _Unfit(f"{len(gathers)} nodes gather rows by input_ids, where one is expected")
    heads = [n for n in graph.node if "logits" in n.output]
    if len(heads) != 1 or heads[0].op_type != "MatMulNBits":
        raise _Unfit("the output head is not one quantized matrix product")
    head = heads[0]
    attributes = {a.name: a.i for a in head.attribute}
    if attributes.get("bits") != 8:
        raise _Unfit(f"the output head has {attributes.get('bits')} bits, not 8")
    if any(name for name in head.input[3:]):
        raise _Unfit("the output head has zero points, a group index or a bias")
    table = initializers[gathers[0].input[0]]
    if sum(table.name in node.input for node in graph.node) != 1:
        raise _Unfit("the embedding table is read by another node as well")
    quantized, scales = initializers.get(head.input[1]), initializers.get(head.input[2])
    if quantized is None or scales is None:
        raise _Unfit("the weights of the output head are not stored in the model")
    rows, blocks, block = quantized.dims
    if list(table.dims) != [rows, blocks * block]:
        raise _Unfit(f"the embedding is {list(table.dims)} and the head {[rows, blocks * block]}")
    if attributes["block_size"] != block or table.data_type != 1 or scales.data_type != 1:
        raise _Unfit("the head's blocks are packed, or the embedding is not fp32")
    return _Found(gathers[0], head, table, quantized, scales)


def _check_tied(found: _Found, directory: Path) -> float:
    """The largest quantization step, after every row was found equal to within half of its own step."""
    import numpy as np

    table = _map(found.table, directory, np.float32)
    quantized = _map(found.quantized, directory, np.uint8)
    scales = _map(found.scales, directory, np.float32).reshape(quantized.shape[:2])
    largest = 0.0
    for first in range(0, len(table), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        step = np.abs(scales[part])[..., None]
        rows = (quantized[part].astype(np.float32) - ZERO_POINT) * scales[part][..., None]
        error = np.abs(rows - table[part].reshape(rows.shape))
        # Half a step by rounding; 127 against 128 at the clipped end costs up to one whole step.
        if bool((error > step * 1.001 + 1e-7).any()) or float(error.mean()) > 0.5 * float(step.mean()):
            raise _Unfit("the output head does not hold the embedding's numbers: they are not tied")
        largest = max(largest, float(step.max()))
    return largest


def _map(tensor: Any, directory: Path, dtype: Any) -> Any:
    import numpy as np

    where = _external(tensor)
    if where is None:
        raise _Unfit(f"{tensor.name} is not stored in {DATA}")
    offset, length = where
    flat = np.memmap(
        directory / DATA, dtype=dtype, mode="r", offset=offset, shape=(length // np.dtype(dtype).itemsize,)
    )
    return flat.reshape(tuple(tensor.dims))


def _external(tensor: Any) -> tuple[int, int] | None:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if entries.get("location") != DATA or "length" not in entries:
        return None
    return int(entries.get("offset", "0")), int(entries["length"])


def _rewire(graph: Any, found: _Found) -> None:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    prefix = "/model/embed_tokens/shared"
    output = found.gather.output[0]
    rows, blocks, block = found.quantized.dims
    constants = [
        numpy_helper.from_array(np.array(float(ZERO_POINT), np.float32), f"{prefix}/zero"),
        numpy_helper.from_array(np.array([-1], np.int64), f"{prefix}/last"),
        numpy_helper.from_array(np.array([0, 0, blocks * block], np.int64), f"{prefix}/shape"),
    ]
    make = helper.make_node
    nodes = [
        make("Gather", [found.quantized.name, "input_ids"], [f"{prefix}/q"], f"{prefix}/GatherRows", axis=0),
        make("Cast", [f"{prefix}/q"], [f"{prefix}/f"], f"{prefix}/Cast", to=TensorProto.FLOAT),
        make("Sub", [f"{prefix}/f", f"{prefix}/zero"], [f"{prefix}/centred"], f"{prefix}/Sub"),
        make("Gather", [found.scales.name, "input_ids"], [f"{prefix}/s"], f"{prefix}/GatherScales", axis=0),
        make("Unsqueeze", [f"{prefix}/s", f"{prefix}/last"], [f"{prefix}/step"], f"{prefix}/Unsqueeze"),
        make("Mul", [f"{prefix}/centred", f"{prefix}/step"], [f"{prefix}/scaled"], f"{prefix}/Mul"),
        make("Reshape", [f"{prefix}/scaled", f"{prefix}/shape"], [output], f"{prefix}/Reshape"),
    ]
    if list(found.scales.dims) != [rows, blocks]:
        found.scales.dims[:] = [rows, blocks]
    position = list(graph.node).index(found.gather)
    graph.node.remove(found.gather)
    for offset, node in enumerate(nodes):
        graph.node.insert(position + offset, node)
    graph.initializer.remove(found.table)
    graph.initializer.extend(constants)


def _write_without(model: Any, directory: Path) -> None:
    """Write the tensors that are left to a new data file, then put both files in place of the old ones."""
    import onnx

    half_data, half_model = directory / (DATA + ".half"), directory / (MODEL + ".half")
    with (directory / DATA).open("rb") as source, half_data.open("wb") as target:
        for tensor in model.graph.initializer:
            where = _external(tensor)
            if where is None:
                continue
            target.write(b"\0" * (-target.tell() % ALIGNMENT))
            position = target.tell()
            _copy(source, target, *where)
            for entry in tensor.external_data:
                if entry.key == "offset":
                    entry.value = str(position)
    onnx.save(model, str(half_model))
    half_data.replace(directory / DATA)
    half_model.replace(directory / MODEL)


def _copy(source: Any, target: Any, offset: int, length: int) -> None:
    source.seek(offset)
    while length > 0:
        piece = source.read(min(length, COPY_BYTES))
        if not piece:
            raise EOFError(f"{DATA} ends before its last tensor")
        target.write(piece)
        length -= len(piece)
