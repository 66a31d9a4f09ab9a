"""Which weights of two directories differ: blocks, and rows of the tables of tokens.

Where both are plain checkpoints of one model, a damage of one block or of some tokens is named by its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.hosts import tokenizer as tokenizers
from paredown.models import configuration, safetensors_header, safetensors_values
from paredown.models.describe import BLOCK
from paredown.models.safetensors_header import HeaderEntry
from paredown.models.weights import EMBEDDING, HEAD, kind_by_name

ROWS_AT_ONCE = 8192
MOST_NAMED = 5
SCALED = 0.01
"""What may remain, relative to the weights, for a change to be called a factor: 16-bit rounding is below it."""

Decode = Callable[[int], str]
Stored = tuple[Path, HeaderEntry]


@dataclass
class _Group:
    """A block, a table, or the rest: how many tensors differ, and by how much (sums of squares)."""

    tensors: int = 0
    changed: int = 0
    base: float = 0.0
    difference: float = 0.0
    product: float = 0.0
    other: float = 0.0
    rows: list[int] = field(default_factory=list)
    of_rows: int = 0

    def said(self) -> str:
        """`times 1.5`, or the norm of the change over that of the weights."""
        factor = self.product / self.base if self.base else 0.0
        left = math.sqrt(max(0.0, self.other - factor * self.product) / self.base) if self.base else 1.0
        if left < SCALED and abs(factor - 1.0) > SCALED:
            return f"times {factor:.3g}"
        share = math.sqrt(self.difference / self.base) if self.base else 1.0
        return f"changed by {100 * share:.2g} % of their size"


def sentences(baseline: Path, candidate: Path) -> tuple[str, ...]:
    """What differs, in one sentence; none where the two do not hold the same tensors in plain numbers.

    Raises UserError for a damaged file.
    """
    before, after = _tensors(baseline), _tensors(candidate)
    pairs = list(_pairs(before, after))
    if 2 * len(pairs) < len(before):
        return ()
    groups: dict[str, _Group] = {}
    for name, old, new in pairs:
        group = groups.setdefault(_group_of(name, len(new[1].shape)), _Group())
        _compare(old, new, group, by_row=kind_by_name(name, len(new[1].shape)) in (EMBEDDING, HEAD))
    changed = {name: group for name, group in groups.items() if group.changed}
    if not changed:
        return ("Every weight is equal to the baseline's: look at the files beside the weights.",)
    said = [_table(name, group, _decoder(candidate)) for name, group in changed.items() if group.of_rows]
    said += _blocks({name: group for name, group in changed.items() if not group.of_rows})
    same = len(groups) - len(changed)
    rest = f"; everything else ({same} of {len(groups)} parts) is equal bit for bit" if same else ""
    return (f"Weights that differ from the baseline's: {'; '.join(said)}{rest}.",)


def _tensors(directory: Path) -> dict[str, Stored]:
    return {
        entry.name: (file, entry)
        for file in safetensors_header.files(directory)
        for entry in safetensors_header.read(file)
    }


def _pairs(before: Mapping[str, Stored], after: Mapping[str, Stored]) -> Iterator[tuple[str, Stored, Stored]]:
    """Tensors of the same name and shape in floating point; a head of its own beside the embedding that it was."""
    embedding = next(
        (stored for name, stored in before.items() if kind_by_name(name, len(stored[1].shape)) == EMBEDDING), None
    )
    for name, new in after.items():
        old = before.get(name) or (embedding if kind_by_name(name, len(new[1].shape)) == HEAD else None)
        plain = old is not None and {old[1].dtype, new[1].dtype} <= set(safetensors_values.FLOATS)
        if old is not None and plain and old[1].shape == new[1].shape:
            yield name, old, new


def _group_of(name: str, dimensions: int) -> str:
    found = BLOCK.search(name)
    if found:
        return f"block {found[0].strip('.').rpartition('.')[2]}"
    return {EMBEDDING: "the embedding", HEAD: "the head"}.get(
        kind_by_name(name, dimensions), "the last norm and other tensors"
    )


def _compare(old: Stored, new: Stored, group: _Group, *, by_row: bool) -> None:
    """Of a table only the rows that differ count."""
    import numpy as np

    group.tensors += 1
    rows = old[1].shape[0] if old[1].shape else 1
    differs = False
    for first in range(0, rows, ROWS_AT_ONCE):
        a, b = (_rows(stored, first, first + ROWS_AT_ONCE) for stored in (old, new))
        other = np.flatnonzero((a != b).reshape(len(a), -1).any(axis=1))
        differs |= len(other) > 0
        if by_row:
            a, b = a[other], b[other]
            group.rows += [first + int(row) for row in other]
        group.base += float(np.vdot(a, a))
        group.product += float(np.vdot(a, b))
        group.other += float(np.vdot(b, b))
        group.difference += float(np.vdot(b - a, b - a))
    group.changed += differs
    group.of_rows += rows if by_row else 0


def _rows(stored: Stored, first: int, last: int) -> Any:
    """float32 [rows, …] of a stored tensor; a number by itself as one row."""
    import numpy as np

    path, entry = stored
    mapped = np.memmap(path, safetensors_values.NUMPY[entry.dtype], "r", entry.offset, entry.shape or (1,))
    return safetensors_values.widened(mapped[first:last], entry.dtype)


def _table(name: str, group: _Group, decode: Decode) -> str:
    tokens = ", ".join(repr(decode(row)) for row in _spread(group.rows))
    such = f"token {group.rows[0]}, {tokens}" if len(group.rows) == 1 else f"tokens such as {tokens}"
    return f"{name}: {len(group.rows):,} of {group.of_rows:,} rows ({such}), {group.said()}"


def _decoder(directory: Path) -> Decode:
    """Text of a token, special ones included; `?` where no tokenizer can be read."""
    added = {
        entry["id"]: str(entry["content"])
        for entry in configuration.read_if_there(directory, "tokenizer.json").get("added_tokens", ())
    }
    try:
        tokenizer = tokenizers.load(directory).tokenizer
    except UserError:
        return lambda token: added.get(token, "?")
    return lambda token: added.get(token) or tokenizer.decode([token])


def _spread(rows: Sequence[int]) -> list[int]:
    return [rows[place * len(rows) // MOST_NAMED] for place in range(MOST_NAMED)] if len(rows) > MOST_NAMED else [*rows]


def _blocks(changed: Mapping[str, _Group]) -> list[str]:
    """The most changed first."""

    def size(name: str) -> float:
        return changed[name].difference / changed[name].base if changed[name].base else 1.0

    order = sorted(changed, key=size, reverse=True)
    said = [
        f"{name} ({changed[name].changed} of {changed[name].tensors} tensors, {changed[name].said()})"
        for name in order[:MOST_NAMED]
    ]
    return said + ([f"{len(order) - MOST_NAMED} further parts less than these"] if len(order) > MOST_NAMED else [])
