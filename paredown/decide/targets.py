"""Targets against figures: met, missed, or not measured. A drop is judged by the gate it sets, not by a figure."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.decide import wording
from paredown.records.figure import Figure
from paredown.records.verdict import AgainstBaseline, Comparison, SliceVerdict, Target, TargetResult, Verdict
from paredown.spec import units
from paredown.spec.targets import QUALITY_DROP
from paredown.stats.percentiles import samples_needed

_SAMPLES_NEEDED = {"p95": samples_needed(0.95), "p99": samples_needed(0.99)}

_EXACT_UNITS = ("B", "bit")
"""A time or a rate without limits is one that has too few blocks for them."""

SLACK = 0.1
"""Of a target: a short trial has to miss by more than this before a candidate is given up for it."""


def check(
    targets: Sequence[Target],
    figures: Sequence[Figure],
    baseline: Sequence[Figure],
    slices: Sequence[SliceVerdict] = (),
    ratios: Sequence[AgainstBaseline] = (),
) -> tuple[TargetResult, ...]:
    """One result a target, in their order; `met is None` with the reason where it was not measured (or not judged).

    ratios: figures over those of the baseline that was measured beside them; a relative target is judged by these
    """
    return tuple(
        _quality(target, slices) if target.metric == QUALITY_DROP else _figure(target, figures, baseline, ratios)
        for target in targets
    )


def clearly_missed(result: TargetResult) -> bool:
    """Whether a short trial is enough to say that the target is missed: by more than `SLACK`, or by an exact figure.

    A size is exact; a speed can come out better when it is measured in turns with the baseline.
    """
    figure, target = result.figure, result.target
    if result.met is not False or figure is None or figure.value is None or target.metric == QUALITY_DROP:
        return False
    if figure.unit in _EXACT_UNITS and figure.low is None and figure.high is None:
        return True
    factor = units.factor(figure.unit, target.unit) or 1.0
    got = result.ratio if target.relative else figure.value * factor
    assert got is not None
    at_most = target.comparison is Comparison.AT_MOST
    return not _holds(target, got * (1.0 - SLACK) if at_most else got * (1.0 + SLACK))


def _quality(target: Target, slices: Sequence[SliceVerdict]) -> TargetResult:
    found = next((row for row in slices if row.slice == target.slice and row.gated), None)
    if found is None:
        return TargetResult(target, None, None, None, None, "Not judged on the golden sets.")
    met = {Verdict.SHIP: True, Verdict.REJECT: False, Verdict.INVESTIGATE: None}[found.verdict]
    figure = Figure(
        QUALITY_DROP,
        "fraction",
        found.drop,
        found.counts.n,
        "",
        found.low,
        found.high,
        missing=("" if found.drop is not None else "no prompt has a score on both sides"),
    )
    return TargetResult(target, figure, None, None, met, found.reason)


def _figure(
    target: Target, figures: Sequence[Figure], baseline: Sequence[Figure], ratios: Sequence[AgainstBaseline]
) -> TargetResult:
    figure, before = _find(target, figures), _find(target, baseline)
    if figure is None or figure.value is None:
        return TargetResult(target, figure, before, None, None, f"Not measured: {_absent(target, figure)}.")
    if figure.void or (target.relative and before is not None and before.void):
        note = figure.note if figure.void or before is None else f"the baseline's trial was {before.note}"
        return TargetResult(target, figure, before, None, None, f"Not usable: {note}.")
    if not target.relative:
        return _absolute(target, figure, before)
    if before is None or not before.value:
        why = _absent(target, before)
        return TargetResult(target, figure, before, None, None, f"Not measured on the baseline: {why}.")
    against = next((one for one in ratios if one.figure == figure.name), None)
    return _relative(target, figure, before, against)


def _relative(target: Target, figure: Figure, before: Figure, against: AgainstBaseline | None) -> TargetResult:
    """By the rounds where both were measured in turns, else by the figures as they are."""
    assert figure.value is not None
    assert before.value
    ratio = against.ratio if against is not None and against.in_turns else figure.value / before.value
    met = _holds(target, ratio)
    text = (
        f"{wording.quantity(figure.value, figure.unit)} against {wording.quantity(before.value, before.unit)}: "
        f"{_ratio(target, ratio)}, {_asked(target)}."
    )
    if against is None:
        certain, caution = _certain_by(target, figure, before.value), _caution(target, figure, before.value)
        return TargetResult(target, figure, before, ratio, met, f"{text}{caution}", certain)
    certain = _certain(target, ratio, against.low, against.high)
    more = _ratio_caution(target, against, met=met, certain=certain)
    return TargetResult(target, figure, before, ratio, met, f"{text}{more}", certain, against)


def _absolute(target: Target, figure: Figure, before: Figure | None) -> TargetResult:
    assert figure.value is not None
    factor = units.factor(figure.unit, target.unit)
    ratio = figure.value / before.value if before is not None and before.value else None
    if factor is None:
        why = f"it is in {figure.unit!r}, the target in {target.unit!r}"
        return TargetResult(target, figure, before, ratio, None, f"Not comparable: {why}.")
    met = _holds(target, figure.value * factor)
    text = f"{wording.quantity(figure.value, figure.unit)}, {_asked(target)}."
    certain = _certain_by(target, figure, 1.0 / factor)
    reason = f"{text}{_caution(target, figure, 1.0 / factor)}"
    return TargetResult(target, figure, before, ratio, met, reason, certain)


def _certain_by(target: Target, figure: Figure, unit_of_target: float) -> bool | None:
    """By the limits of the figure alone."""
    assert figure.value is not None
    low, high = (None if limit is None else limit / unit_of_target for limit in (figure.low, figure.high))
    return _certain(target, figure.value / unit_of_target, low, high)


def _certain(target: Target, value: float, low: float | None, high: float | None) -> bool | None:
    """Whether the limit on the far side of the target agrees with the value; None = there is no such limit."""
    at_most = target.comparison is Comparison.AT_MOST
    met = _holds(target, value)
    far = high if at_most is met else low
    return None if far is None else _holds(target, far) is met


def _find(target: Target, figures: Sequence[Figure]) -> Figure | None:
    return next((f for f in figures if f.metric == target.metric and f.statistic == target.statistic), None)


def _absent(target: Target, figure: Figure | None) -> str:
    if figure is not None and figure.missing:
        return figure.missing
    needed = _SAMPLES_NEEDED.get(target.statistic)
    return f"{target.statistic} takes {needed} samples" if needed else "there is no such figure"


def _holds(target: Target, value: float) -> bool:
    # A hair of tolerance: 55 % of 100 bytes is 55.00000000000001 in binary.
    if target.comparison is Comparison.AT_MOST:
        return value <= target.value * (1.0 + 1e-9)
    return value >= target.value * (1.0 - 1e-9)


def _ratio(target: Target, ratio: float) -> str:
    return wording.percent(ratio) if target.text.rstrip().endswith("%") else wording.quantity(ratio, "x")


def _asked(target: Target) -> str:
    bound = "at most" if target.comparison is Comparison.AT_MOST else "at least"
    value = _ratio(target, target.value) if target.relative else wording.quantity(target.value, target.unit)
    return f"{bound} {value} asked"


def _ratio_caution(target: Target, against: AgainstBaseline, *, met: bool, certain: bool | None) -> str:
    if not against.in_turns:
        return " Not certain: the two were not measured in turns."
    if certain is None:
        return f" Not certain: {against.rounds} round carries no interval."
    if certain:
        return ""
    assert against.low is not None
    assert against.high is not None
    low, high = _ratio(target, against.low), _ratio(target, against.high)
    return (
        f" Not certain: the interval ({low} to {high}, {against.rounds} rounds) reaches {'past it' if met else 'it'}."
    )


def _caution(target: Target, figure: Figure, unit_of_target: float) -> str:
    """What the point value hides: a limit beyond the target, or one that the samples do not carry.

    unit_of_target: one unit of the target's value in the unit of the figure
    """
    limit = target.value * unit_of_target
    at_most = target.comparison is Comparison.AT_MOST
    far = figure.high if at_most else figure.low
    if far is None:
        needed = _SAMPLES_NEEDED.get(figure.statistic)
        if at_most and needed is not None and figure.count < needed:
            return f" Its upper limit is unbounded: {figure.count} samples, {figure.statistic} takes {needed}."
        return ""
    assert figure.value is not None
    met, surely = _holds(target, figure.value / unit_of_target), far <= limit if at_most else far >= limit
    return f" Not certain: the interval{wording.interval(figure)} reaches past it." if met and not surely else ""
