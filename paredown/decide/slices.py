"""One verdict a slice: is the candidate within the margin there, beyond it, or are there too few prompts to tell?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paredown.decide import limits, pairs, reasons
from paredown.decide.limits import Drop
from paredown.decide.pairs import Pairs
from paredown.records.golden import Evaluation, GoldenItem
from paredown.records.verdict import Margin, PairedCounts, SliceVerdict, Verdict
from paredown.stats import chance as guessing
from paredown.stats import holm, power

ZERO_TOLERANCE = "zero tolerance"
REGRESSED_ALPHA = 0.05
CHANCE_ALPHA = 0.05

Chance = Callable[[GoldenItem], float | None]


@dataclass(frozen=True)
class Row:
    """A margin with its pairs; drop: None where nothing is paired."""

    margin: Margin
    pairs: Pairs
    drop: Drop | None
    discriminating: bool


def judge(
    baseline: Evaluation,
    candidate: Evaluation,
    items: Sequence[GoldenItem],
    margins: Sequence[Margin],
    *,
    alpha: float,
    chance: Chance,
) -> tuple[SliceVerdict, ...]:
    """A verdict for each margin, in their order; then one for the zero-tolerance items where there are any.

    alpha:      one-sided error of each limit, also of those that the prompts needed are for
    chance:     an item's score under random guessing, None where it is unknown (the scorer's own function)
    SHIP:       the upper limit of the drop is below the margin, even if every item that only the candidate has no
                score for had been lost, and the baseline is above chance
    REJECT:     the lower limit is above the margin, corrected by Holm over the gated (or the watched) slices
    INVESTIGATE: anything else
    A candidate with the baseline's answers everywhere is never rejected.
    """
    rows = [_row(baseline, candidate, items, margin, alpha, chance) for margin in margins]
    beyond = _beyond(rows, alpha)
    regressed = _regressed(rows)
    found = [verdict_of(row, alpha, beyond=beyond[i], regressed=regressed[i]) for i, row in enumerate(rows)]
    strict = [item for item in items if item.zero_tolerance]
    return (*found, *zero_tolerance(baseline, candidate, strict, alpha))


def _row(
    baseline: Evaluation,
    candidate: Evaluation,
    items: Sequence[GoldenItem],
    margin: Margin,
    alpha: float,
    chance: Chance,
) -> Row:
    members = pairs.members(margin, items)
    paired = pairs.pair(baseline, candidate, members)
    if not paired.pairs:
        return Row(margin, paired, None, discriminating=True)
    drop = limits.of(paired, margin.margin, alpha, alpha)
    return Row(margin, paired, drop, above_chance(paired, chance))


def above_chance(paired: Pairs, chance: Chance) -> bool:
    """Whether the baseline is clearly better than guessing; items of unknown chance say nothing about it."""
    levels = [(pair.baseline, level) for pair in paired.pairs if (level := chance(pair.item)) is not None]
    if not levels:
        return True
    return guessing.p_above([score for score, _ in levels], [level for _, level in levels]) <= CHANCE_ALPHA


def _beyond(rows: Sequence[Row], alpha: float) -> list[bool]:
    """For each row whether its drop is shown to exceed the margin; Holm within the gated and within the watched."""
    beyond = [False] * len(rows)
    for gated in (True, False):
        index = [i for i, row in enumerate(rows) if row.margin.gated is gated and row.drop is not None]
        adjusted = holm.adjust([drop.p_worse for i in index if (drop := rows[i].drop) is not None])
        for i, p_value in zip(index, adjusted, strict=True):
            drop = rows[i].drop
            beyond[i] = drop is not None and p_value <= alpha and drop.low > rows[i].margin.margin
    return beyond


def _regressed(rows: Sequence[Row]) -> list[bool]:
    """For each row whether it became worse at all (two-sided, Holm over all rows), whatever the margin."""
    adjusted = holm.adjust([row.drop.p_changed if row.drop else 1.0 for row in rows])
    return [
        row.drop is not None and row.drop.value > 0 and p_value <= REGRESSED_ALPHA
        for row, p_value in zip(rows, adjusted, strict=True)
    ]


def verdict_of(
    row: Row, alpha: float, *, beyond: bool, regressed: bool, shipped: bool | None = None, note: str = ""
) -> SliceVerdict:
    """The verdict on one slice with its reason.

    beyond:  its drop is shown to exceed the margin; regressed: it became worse at all
    shipped: what a plan with looks has decided; None = the limits decide
    note:    a sentence that follows the reason
    """
    counts, margin, drop = row.pairs.counts(), row.margin, row.drop
    if drop is None:
        return _unscored(margin, counts, alpha)
    shown = drop.high < margin.margin and row.discriminating
    if beyond:
        verdict = Verdict.REJECT
    elif shipped or (shipped is None and shown and drop.worst_high < margin.margin):
        verdict = Verdict.SHIP
    else:
        verdict = Verdict.INVESTIGATE
    blocked = not row.discriminating or shown
    more_prompts = drop.more_prompts if verdict is Verdict.INVESTIGATE and not blocked else None
    case = reasons.Case(
        verdict, margin.margin, counts, drop, more_prompts, row.discriminating, regressed, len(row.pairs.missing), alpha
    )
    flip_rate = (counts.lost + counts.gained + 1) / (counts.n + 2)
    return SliceVerdict(
        slice=margin.slice,
        gated=margin.gated,
        margin=margin.margin,
        counts=counts,
        baseline_score=_mean([pair.baseline for pair in row.pairs.pairs]),
        candidate_score=_mean([pair.candidate for pair in row.pairs.pairs]),
        drop=drop.value,
        low=drop.low,
        high=drop.high,
        p_value=drop.p_changed,
        verdict=verdict,
        reason=f"{reasons.of_slice(case)} {note}".rstrip(),
        more_prompts=more_prompts,
        discriminating=row.discriminating,
        regressed=regressed,
        smallest_visible_drop=power.smallest_visible_drop(counts.n, flip_rate) if row.pairs.binary else None,
        level=1.0 - alpha,
    )


def _unscored(margin: Margin, counts: PairedCounts, alpha: float) -> SliceVerdict:
    reason = f"None of its {counts.not_scored} prompts has a score on both sides, so nothing can be said."
    return SliceVerdict(
        slice=margin.slice,
        gated=margin.gated,
        margin=margin.margin,
        counts=counts,
        baseline_score=None,
        candidate_score=None,
        drop=None,
        low=None,
        high=None,
        p_value=None,
        verdict=Verdict.INVESTIGATE,
        reason=reason if counts.not_scored else "It has no prompts in this split, so nothing can be said.",
        level=1.0 - alpha,
    )


def lost_among(paired: Pairs) -> list[str]:
    """Ids of the items that the candidate lost."""
    return [pair.item.id for pair in paired.pairs if pair.candidate < pair.baseline]


def zero_tolerance(
    baseline: Evaluation, candidate: Evaluation, strict: Sequence[GoldenItem], alpha: float
) -> tuple[SliceVerdict, ...]:
    """Any loss rejects. A rule about these very prompts, not an estimate: so there are no limits. None without any."""
    if not strict:
        return ()
    paired = pairs.pair(baseline, candidate, strict)
    lost = lost_among(paired)
    missing = [item.id for item in paired.missing]
    if lost:
        verdict, reason = Verdict.REJECT, f"Lost, though any loss rejects: {reasons.listed(lost)}."
    elif missing:
        verdict = Verdict.INVESTIGATE
        reason = f"The candidate has no score for {reasons.listed(missing)}, on which any loss would reject."
    else:
        verdict, reason = Verdict.SHIP, f"None of {reasons.prompts(len(paired.pairs))} that must not be lost was lost."
    before, after = [pair.baseline for pair in paired.pairs], [pair.candidate for pair in paired.pairs]
    row = SliceVerdict(
        slice=ZERO_TOLERANCE,
        gated=True,
        margin=0.0,
        counts=paired.counts(),
        baseline_score=_mean(before),
        candidate_score=_mean(after),
        drop=sum(before) / len(before) - sum(after) / len(after) if before else None,
        low=None,
        high=None,
        p_value=None,
        verdict=verdict,
        reason=reason,
        level=1.0 - alpha,
    )
    return (row,)


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None
