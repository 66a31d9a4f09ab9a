"""Limits of the drop: Tango's for right-or-wrong scores, Student's over clusters for graded ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.decide.pairs import Pair, Pairs
from paredown.stats import graded, mcnemar, power, tango


@dataclass(frozen=True)
class Drop:
    """The drop (fraction, positive = worse) with limits, each one-sided at its own level.

    high:       the limit that ships; at a stricter level where Tango does not keep its nominal one
    worst_high: the same if every item that only the candidate lacks had been lost
    p_worse:    one-sided p-value against "the drop is at most the margin"; p_changed: two-sided against "no change"
    """

    value: float
    low: float
    high: float
    worst_high: float
    p_worse: float
    p_changed: float
    more_prompts: int | None


@dataclass(frozen=True)
class OverClusters:
    """Student's limits of the drop over documents; worst_high as in `Drop`."""

    low: float
    high: float
    worst_high: float


def over_clusters(pairs: Pairs, level: float) -> OverClusters:
    """Each limit one-sided at `level`; −1 and 1 at level 0. `pairs` must not be empty."""
    if level <= 0.0:
        return OverClusters(-1.0, 1.0, 1.0)
    low, high = mean_drop(pairs.pairs).limits(level)
    lost = [Pair(item, 1.0, 0.0) for item in pairs.missing]
    worst_high = mean_drop((*pairs.pairs, *lost)).limits(level)[1] if lost else high
    return OverClusters(low, high, worst_high)


def p_over_clusters(pairs: Pairs, margin: float) -> float:
    """One-sided p-value against "the drop is at most the margin", over documents; 1 without pairs."""
    return mean_drop(pairs.pairs).p_larger_than(margin) if pairs.pairs else 1.0


def of(pairs: Pairs, margin: float, alpha: float, next_alpha: float) -> Drop:
    """Limits at `alpha`; prompts needed are those for a next attempt at `next_alpha`. `pairs` must not be empty.

    Right-or-wrong items that share a document are not independent: then the wider of Tango's limits and those over
    clusters counts on each side.
    """
    if not pairs.binary:
        return _graded(pairs, margin, alpha, next_alpha)
    drop = _binary(pairs, margin, alpha, next_alpha)
    if not pairs.clustered:
        return drop
    wide = _graded(pairs, margin, alpha, next_alpha)
    more = (
        None if None in (drop.more_prompts, wide.more_prompts) else max(drop.more_prompts or 1, wide.more_prompts or 1)
    )
    return Drop(
        drop.value,
        min(drop.low, wide.low),
        max(drop.high, wide.high),
        max(drop.worst_high, wide.worst_high),
        max(drop.p_worse, wide.p_worse),
        max(drop.p_changed, wide.p_changed),
        more,
    )


def _binary(pairs: Pairs, margin: float, alpha: float, next_alpha: float) -> Drop:
    counts, n, missing = pairs.counts(), len(pairs.pairs), len(pairs.missing)
    level = power.non_inferiority_level(n, margin, alpha)
    with_missing = power.non_inferiority_level(n + missing, margin, alpha)
    low = tango.limits(counts.lost, counts.gained, n, alpha).low
    shipping = tango.limits(counts.lost, counts.gained, n, level)
    worst = tango.limits(counts.lost + missing, counts.gained, n + missing, with_missing)
    return Drop(
        shipping.drop,
        low,
        shipping.high,
        worst.high,
        tango.p_worse(counts.lost, counts.gained, n, margin),
        mcnemar.mid_p(counts.lost, counts.gained),
        power.prompts_needed(counts.lost, counts.gained, n, margin, next_alpha),
    )


def _graded(pairs: Pairs, margin: float, alpha: float, next_alpha: float) -> Drop:
    found, at = mean_drop(pairs.pairs), over_clusters(pairs, alpha)
    return Drop(
        found.drop,
        at.low,
        at.high,
        at.worst_high,
        found.p_larger_than(margin),
        found.p_changed(),
        found.items_needed(margin, next_alpha),
    )


def mean_drop(pairs: Sequence[Pair]) -> graded.MeanDrop:
    """The mean of baseline minus candidate, over documents."""
    return graded.mean_drop([pair.baseline - pair.candidate for pair in pairs], [pair.cluster for pair in pairs])
