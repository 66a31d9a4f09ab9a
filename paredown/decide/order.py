"""The order in which held-back prompts are asked: fixed by the seed and the ids before the first answer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from paredown.records.golden import GoldenItem


def frozen(items: Sequence[GoldenItem], seed: int) -> tuple[GoldenItem, ...]:
    """The items in a random order in which every beginning holds about the same share of each slice.

    So every gate, which is one or several slices, has about the same share at each look. Clusters stay together (under
    the slice of their first item). It follows from the seed and the ids alone, not from the order of the items.
    """
    groups: dict[str, list[GoldenItem]] = {}
    for item in sorted(items, key=lambda item: item.id):
        groups.setdefault(item.unit, []).append(item)
    by_slice: dict[str, list[str]] = {}
    for name, members in groups.items():
        by_slice.setdefault(members[0].slice, []).append(name)
    places: dict[str, tuple[float, str]] = {}
    for names in by_slice.values():
        total, before = sum(len(groups[name]) for name in names), 0
        for drawn, name in sorted((_draw(seed, name), name) for name in names):
            places[name] = ((before + 0.5 * len(groups[name])) / total, drawn)
            before += len(groups[name])
    return tuple(item for name in sorted(groups, key=places.__getitem__) for item in groups[name])


def _draw(seed: int, name: str) -> str:
    return hashlib.sha256(f"order {seed}\n{name}".encode()).hexdigest()
