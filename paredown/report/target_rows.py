"""Targets as they are shown: asked, got, met."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paredown.records.figure import Figure
from paredown.records.verdict import TargetResult
from paredown.report import units
from paredown.report.view import QUALITY_DROP, ReportView


@dataclass(frozen=True)
class TargetRow:
    """Asked, got, met. `state` is `met`, `missed` or `unknown`."""

    asked: str
    got: str
    spread: str
    baseline: str
    state: str
    reason: str


STATES = {True: "met", False: "missed", None: "unknown"}


def targets(view: ReportView) -> tuple[TargetRow, ...]:
    """The targets against the recommended candidate; without one, each is unknown and says so."""
    if view.choice is None:
        why = "no candidate was recommended"
        return tuple(TargetRow(text, units.missing_text(why), "", "", "unknown", why) for text in view.asked.targets)
    return tuple(_target_row(result) for result in view.choice.verdict.targets)


def _target_row(result: TargetResult) -> TargetRow:
    text = result.target.text
    figure, base = (_as_asked(f, result) for f in (result.figure, result.baseline))
    got = units.figure_text(figure, result.reason)
    if result.ratio is not None and result.target.relative:
        percent = text.rstrip().endswith("%")
        got = (
            f"{units.percent(result.ratio, 0)} of the baseline ({got})"
            if percent
            else f"{units.ratio(result.ratio)} ({got})"
        )
    against = result.against
    limits = units.interval_text(against.low, against.high, "ratio") if against is not None else ""
    return TargetRow(
        asked=text,
        got=got,
        spread=f"{limits}, {against.rounds} rounds" if against is not None and limits else units.spread_text(figure),
        baseline=units.figure_text(base) if base else "",
        state=STATES[result.met],
        reason=result.reason,
    )


def _as_asked(figure: Figure | None, result: TargetResult) -> Figure | None:
    """The figure in the kind of unit of its target: a drop in points, bytes in binary units when so asked."""
    if figure is None:
        return None
    if result.target.metric == QUALITY_DROP:
        return replace(figure, unit="pt")
    binary = figure.unit == "B" and "ib" in result.target.text.lower()
    return replace(figure, unit="binary bytes") if binary else figure
