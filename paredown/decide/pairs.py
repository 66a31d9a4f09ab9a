"""Scores of baseline and candidate, paired by item; what is not scored is counted apart and never as 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paredown.records.golden import Evaluation, GoldenItem
from paredown.records.verdict import Margin, PairedCounts
from paredown.spec.targets import POOLED


@dataclass(frozen=True)
class Pair:
    """One item with both scores."""

    item: GoldenItem
    baseline: float
    candidate: float

    @property
    def cluster(self) -> str:
        return self.item.unit


@dataclass(frozen=True)
class Pairs:
    """missing: items that the baseline answered and the candidate has no score for; unscored: all without a pair"""

    pairs: tuple[Pair, ...]
    missing: tuple[GoldenItem, ...]
    unscored: int

    @property
    def binary(self) -> bool:
        """Every score is 0 or 1."""
        return all(score in (0.0, 1.0) for pair in self.pairs for score in (pair.baseline, pair.candidate))

    @property
    def clustered(self) -> bool:
        """Some items share a document or conversation, so that they are not independent."""
        return len({pair.cluster for pair in self.pairs}) < len(self.pairs)

    def counts(self) -> PairedCounts:
        """Pairs by outcome; for graded scores: lower, higher, equal above 0, equal at 0."""
        lost = sum(pair.candidate < pair.baseline for pair in self.pairs)
        gained = sum(pair.candidate > pair.baseline for pair in self.pairs)
        equal = [pair.baseline for pair in self.pairs if pair.candidate == pair.baseline]
        right = sum(score > 0.0 for score in equal)
        return PairedCounts(right, lost, gained, len(equal) - right, self.unscored)


def pair(baseline: Evaluation, candidate: Evaluation, items: Sequence[GoldenItem]) -> Pairs:
    """Pairs in the order of `items`; an item that an evaluation does not hold is not scored there."""
    before, after = _scores(baseline), _scores(candidate)
    pairs, missing, unscored = [], [], 0
    for item in items:
        old, new = before.get(item.id), after.get(item.id)
        if old is not None and new is not None:
            pairs.append(Pair(item, old, new))
            continue
        unscored += 1
        if old is not None:
            missing.append(item)
    return Pairs(tuple(pairs), tuple(missing), unscored)


def members(margin: Margin, items: Sequence[GoldenItem]) -> tuple[GoldenItem, ...]:
    """The items that a margin is about."""
    if margin.members:
        return tuple(item for item in items if item.slice in margin.members)
    return tuple(item for item in items if margin.slice in (POOLED, item.slice))


def _scores(evaluation: Evaluation) -> Mapping[str, float]:
    return {score.item: score.value for score in evaluation.scores if score.value is not None}
