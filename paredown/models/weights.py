"""What a format reader finds in a model's files: one entry for each stored tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from paredown.records.artifact import TensorGroup

MATRIX, HEAD, EMBEDDING, SCALE, OTHER = "matrix", "head", "embedding", "scale", "other"

EMBEDDING_NAME = re.compile(
    r"(^|[./])(embed_tokens|tok_embeddings|word_embeddings|wte|wpe|embed_in|embeddings?)([./]|$)"
)
HEAD_NAME = re.compile(r"(^|[./])(lm_head|embed_out|output_projection)([./_]|$)")


@dataclass(frozen=True)
class StoredTensor:
    """One stored tensor, counted once however often it is used.

    shape:    of the matrix that it stands for where that is known, else as stored
    elements: weights that it stands for (two in a byte that packs 4 bits)
    kind:     as in `TensorGroup`
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    size_bytes: int
    kind: str

    @property
    def bits(self) -> float:
        return 8.0 * self.size_bytes / self.elements if self.elements else 0.0


@dataclass(frozen=True)
class WeightFormat:
    """How the files of one artifact format are read, without loading any weights.

    recognises: whether a directory holds this format
    read:       every stored tensor; raises UserError when the files are damaged or a package is missing
    is_source:  a model of this format can be the start of a run: its weights are plain
    """

    name: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], tuple[StoredTensor, ...]]
    is_source: bool = False


def kind_by_name(name: str, dimensions: int) -> str:
    """Kind of an unpacked tensor from its name and number of dimensions (fused experts have three)."""
    if dimensions < 2:
        return OTHER
    if EMBEDDING_NAME.search(name):
        return EMBEDDING
    return HEAD if HEAD_NAME.search(name) else MATRIX


def grouped(tensors: Iterable[StoredTensor]) -> tuple[TensorGroup, ...]:
    """One group for each kind and data type, largest first."""
    sums: dict[tuple[str, str], list[int]] = {}
    for tensor in tensors:
        total = sums.setdefault((tensor.kind, tensor.dtype), [0, 0, 0])
        for place, amount in enumerate((1, tensor.elements, tensor.size_bytes)):
            total[place] += amount
    groups = [
        TensorGroup(dtype, count, elements, size_bytes, kind)
        for (kind, dtype), (count, elements, size_bytes) in sums.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-group.size_bytes, group.kind, group.dtype)))
