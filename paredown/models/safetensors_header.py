"""Headers of safetensors files: names, data types, shapes and sizes, checked against the file's length.

Layout: 8 bytes little-endian length of the header, the header (JSON), the data. Nothing of the data is read.
Source: https://github.com/huggingface/safetensors, section "Format".
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.errors import UserError

INDEX = "model.safetensors.index.json"
LARGEST_HEADER_BYTES = 100_000_000
BITS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6,
    "F6_E3M2": 6, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "C64": 64, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64,
    "U32": 32, "U16": 16, "U8": 8, "BOOL": 8,
}  # fmt: skip


@dataclass(frozen=True)
class HeaderEntry:
    """One tensor as the header describes it. `offset`: of its first byte in the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    offset: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def files(directory: Path) -> tuple[Path, ...]:
    """The safetensors files of a checkpoint, all shards of its index. Raises UserError when one is missing."""
    index = directory / INDEX
    if not index.is_file():
        return tuple(sorted(directory.glob("*.safetensors")))
    try:
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise UserError(f"{index} cannot be read as an index of shards ({error}). Download the model again.") from error
    missing = [name for name in shards if not (directory / name).is_file()]
    if missing:
        raise UserError(
            f"{directory} lacks {len(missing)} of its {len(shards)} weight files, first {missing[0]!r} "
            f"(named in {INDEX}). Download the model again."
        )
    return tuple(directory / name for name in shards)


def read(path: Path) -> tuple[HeaderEntry, ...]:
    """Every tensor of one file, in order of their place in it. Raises UserError when the file is damaged."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(8)
        if len(start) < 8:
            raise _damaged(path, f"it has only {size} bytes")
        (length,) = struct.unpack("<Q", start)
        if length > min(size - 8, LARGEST_HEADER_BYTES):
            raise _damaged(path, f"its header claims {length:,} bytes, the file has {size:,}")
        text = stream.read(length)
    try:
        header = json.loads(text)
        entries = sorted(_entries(header, 8 + length), key=lambda entry: entry.offset)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, f"its header is not valid ({type(error).__name__}: {error})") from error
    _check_places(path, entries, 8 + length, size)
    return tuple(entries)


def _entries(header: dict[str, Any], data_offset: int) -> Iterator[HeaderEntry]:
    for name, facts in header.items():
        if name == "__metadata__":
            continue
        begin, end = facts["data_offsets"]
        entry = HeaderEntry(name, facts["dtype"], tuple(facts["shape"]), end - begin, data_offset + begin)
        if entry.dtype not in BITS:
            raise ValueError(f"unknown data type {entry.dtype!r} of {name!r}")
        if entry.elements * BITS[entry.dtype] != entry.size_bytes * 8:
            raise ValueError(f"{name!r} has shape {list(entry.shape)} of {entry.dtype} but {entry.size_bytes} bytes")
        yield entry


def _check_places(path: Path, entries: list[HeaderEntry], data_offset: int, size: int) -> None:
    expected = data_offset
    for entry in entries:
        if entry.offset != expected:
            raise _damaged(path, f"the data of {entry.name!r} begin at byte {entry.offset:,} instead of {expected:,}")
        expected += entry.size_bytes
    if expected > size:
        raise _damaged(path, f"{expected - size:,} of its {expected:,} bytes are missing at the end")
    if expected < size:
        raise _damaged(path, f"it has {size - expected:,} bytes that belong to no tensor")


def _damaged(path: Path, what: str) -> UserError:
    return UserError(f"{path} is damaged: {what}. Copy or download it again.")
