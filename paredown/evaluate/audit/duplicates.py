"""Golden items that ask the same, or nearly the same, and those that would confirm what they have chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from paredown.evaluate.audit import wording
from paredown.records.audit import Finding
from paredown.records.golden import GoldenItem
from paredown.stats import near_duplicates

COMMON_ITEMS = 10
COMMON_SHARE = 0.02
"""Words that stand in more items than this (examples, instructions) do not make two of them alike."""
FEW_WORDS = 2
ALIKE_INSIDE = 0.5
"""How much of what lies between two texts' common beginning and end is the same, where that is more than few words."""


def find(items: Sequence[GoldenItem], split_of: Mapping[str, str]) -> tuple[Finding, ...]:
    """split_of: the split of each item by id; items that have none are compared with the others all the same."""
    same = _same(items)
    repeated = {item.id for group in same for item in group[1:]}
    alike = _alike([item for item in items if item.id not in repeated])
    found = [_repeated(group) for group in same]
    if alike:
        ids = tuple(item.id for group in alike for item in group)
        sentence = (
            f"{len(ids):,} items differ from another one in a few words only "
            f"({wording.some(_pairs(alike))}): they count as more prompts than they are. Keep one of each, or give "
            "them one `cluster`."
        )
        found.append(Finding("near duplicate", sentence, items=ids))
    return (*found, *_across(same, alike, split_of))


def text_of(item: GoldenItem) -> str:
    """What an item asks, as one text: its messages without the system's, and its choices."""
    return "\n".join([*(part.content for part in item.messages if part.role != "system"), *item.choices])


def _same(items: Sequence[GoldenItem]) -> list[list[GoldenItem]]:
    groups: dict[object, list[GoldenItem]] = {}
    for item in items:
        groups.setdefault((item.messages, item.choices), []).append(item)
    return [group for group in groups.values() if len(group) > 1]


def _repeated(group: Sequence[GoldenItem]) -> Finding:
    ids = tuple(item.id for item in group)
    return Finding(
        "duplicate",
        f"{len(ids)} items ask the same ({wording.some(ids)}): they count as one at most. Keep one of them.",
        items=ids,
    )


def _alike(items: Sequence[GoldenItem]) -> list[list[GoldenItem]]:
    """Groups of near-duplicates outside any cluster, which says already that its items belong together."""
    texts = [text_of(item) for item in items]
    large = [group for group in near_duplicates.groups(texts) if len(group) > 1]
    if not large:
        return []
    counts = Counter(shingle for text in texts for shingle in near_duplicates.shingles(text))
    most = max(COMMON_ITEMS, COMMON_SHARE * len(items))
    found = []
    for group in large:
        words = {place: near_duplicates.words(texts[place]) for place in group}
        rare = {
            place: frozenset(run for run in near_duplicates.runs(words[place]) if counts[run] <= most)
            for place in group
        }
        holding: dict[str, list[int]] = {}
        for place in group:
            for run in rare[place]:
                holding.setdefault(run, []).append(place)
        kept = [
            place
            for place in group
            if any(
                _differ_in_few_words(words[place], words[other])
                for other in sorted({other for run in rare[place] for other in holding[run]} - {place})
                if near_duplicates.similarity(rare[place], rare[other]) >= near_duplicates.THRESHOLD
                and not (items[place].cluster and items[place].cluster == items[other].cluster)
            )
        ]
        if kept:
            found.append([items[place] for place in kept])
    return found


def _differ_in_few_words(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two texts that are alike are one question, not two about one text.

    Between what they have in common at the beginning and at the end there are a few words, or something alike.
    """
    start = _shared(one, other)
    one, other = one[start:], other[start:]
    end = _shared(one[::-1], other[::-1])
    one, other = one[: len(one) - end], other[: len(other) - end]
    inside = near_duplicates.similarity(near_duplicates.runs(one), near_duplicates.runs(other))
    return max(len(one), len(other)) <= FEW_WORDS or inside >= ALIKE_INSIDE


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words from the first on are the same."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _across(
    same: Iterable[Sequence[GoldenItem]], alike: Iterable[Sequence[GoldenItem]], split_of: Mapping[str, str]
) -> list[Finding]:
    leaking = [group for group in (*same, *alike) if len({split_of[i.id] for i in group if i.id in split_of}) > 1]
    if not leaking:
        return []
    ids = tuple(item.id for group in leaking for item in group)
    sentence = (
        f"{len(ids):,} items that ask the same stand on both sides: in the prompts that choose a "
        f"candidate and in those held back to confirm it ({wording.some(_pairs(leaking))}). What was chosen by them is "
        "then confirmed by them. Give each group one `cluster`, which keeps it on one side."
    )
    return [Finding("split leak", sentence, items=ids)]


def _pairs(groups: Iterable[Sequence[GoldenItem]]) -> list[str]:
    return [" and ".join(item.id for item in group[:2]) for group in groups]
