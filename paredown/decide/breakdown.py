"""Which slice, language, length or other tag suffers: the drop of every group of items that share a value.

A pointer for the reader, never a verdict: groups are many and small, so their p-values are corrected by Holm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paredown.decide import limits
from paredown.decide.pairs import Pair, Pairs
from paredown.records.explanation import Group
from paredown.stats import holm, mcnemar, tango

ALPHA = 0.05
MOST_VALUES = 12
"""A tag with more values names single items, not groups."""

LENGTH_TAG = "prompt length"
LENGTHS = ((128, "under 128 tokens"), (512, "128 to 511"), (2048, "512 to 2,047"), (8192, "2,048 to 8,191"))
LONGEST = "8,192 and more"


@dataclass(frozen=True)
class _Found:
    tag: str
    value: str
    pairs: Pairs


def groups(pairs: Sequence[Pair], lengths: Mapping[str, int]) -> tuple[Group, ...]:
    """One row for each value of every tag that splits the items into 2 to 12 groups, by tag, then worst first.

    lengths: tokens of the prompts, by item; items that it does not have are in no group of lengths
    A tag that splits the items exactly as an earlier one does is left out.
    """
    found, seen = [], set()
    for tag in ("slice", *sorted({name for pair in pairs for name in pair.item.tags}), LENGTH_TAG, "scorer"):
        members = _members(tag, pairs, lengths)
        partition = frozenset(frozenset(pair.item.id for pair in group) for group in members.values())
        if 2 <= len(members) <= MOST_VALUES and partition not in seen:
            seen.add(partition)
            found += [_Found(tag, value, Pairs(tuple(group), (), 0)) for value, group in members.items()]
    adjusted = holm.adjust([_p_changed(one.pairs) for one in found])
    rows = [_row(one, p_value) for one, p_value in zip(found, adjusted, strict=True)]
    order = {tag: place for place, tag in reversed(list(enumerate(one.tag for one in found)))}
    return tuple(sorted(rows, key=lambda row: (order[row.tag], -row.drop, row.value)))


def _members(tag: str, pairs: Sequence[Pair], lengths: Mapping[str, int]) -> dict[str, list[Pair]]:
    members: dict[str, list[Pair]] = {}
    for pair in pairs:
        value = _value(tag, pair, lengths)
        if value:
            members.setdefault(value, []).append(pair)
    return members


def _value(tag: str, pair: Pair, lengths: Mapping[str, int]) -> str:
    item = pair.item
    if tag == LENGTH_TAG:
        length = lengths.get(item.id)
        return "" if length is None else next((name for below, name in LENGTHS if length < below), LONGEST)
    return {"slice": item.slice, "scorer": item.scorer}.get(tag) or item.tags.get(tag, "")


def _row(found: _Found, p_value: float) -> Group:
    counts, pairs = found.pairs.counts(), found.pairs.pairs
    low, high = _limits(found.pairs)
    drop = sum(pair.baseline - pair.candidate for pair in pairs) / len(pairs)
    return Group(found.tag, found.value, len(pairs), counts.lost, counts.gained, drop, low, high, p_value)


def _limits(pairs: Pairs) -> tuple[float, float]:
    """Tango's for independent right-or-wrong items, else those over clusters; of both the wider."""
    counts = pairs.counts()
    alone = tango.limits(counts.lost, counts.gained, counts.n, ALPHA) if pairs.binary else None
    wide = limits.over_clusters(pairs, ALPHA) if pairs.clustered or not alone else None
    return min(one.low for one in (alone, wide) if one), max(one.high for one in (alone, wide) if one)


def _p_changed(pairs: Pairs) -> float:
    """The larger one where items are right or wrong and share documents."""
    counts = pairs.counts()
    alone = mcnemar.mid_p(counts.lost, counts.gained) if pairs.binary else 0.0
    return max(alone, limits.mean_drop(pairs.pairs).p_changed()) if pairs.clustered or not pairs.binary else alone
