"""The corners of the optimization triangle: speed, cost and quality of the choice against the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.records.figure import Figure
from paredown.report import units
from paredown.report.ratios import ratio_to_baseline
from paredown.report.slice_rows import limits_name, worst_gate
from paredown.report.view import COST, DECODE_SPEED, PEAK_MEMORY, WEIGHT_BYTES, CandidateView, ReportView


@dataclass(frozen=True)
class Corner:
    """A corner of the optimization triangle, choice against baseline. better: ratio, above 1 is better."""

    name: str
    better: float | None
    headline: str
    detail: str
    baseline: str
    choice: str
    label: str = ""


def triangle(view: ReportView) -> tuple[Corner, Corner, Corner] | None:
    """Speed, cost and quality of the choice against the baseline; None when no candidate was recommended."""
    choice = view.choice
    if choice is None:
        return None
    return _speed_corner(view, choice), _cost_corner(view, choice), _quality_corner(choice)


def _speed_corner(view: ReportView, choice: CandidateView) -> Corner:
    before, after = view.baseline.figure(DECODE_SPEED), choice.measured.figure(DECODE_SPEED)
    speed = ratio_to_baseline(view, choice, DECODE_SPEED)
    shown = f"{speed.text} as fast" if speed.value is not None else speed.text
    return Corner(
        "Speed", speed.value, shown, f"decode speed; {speed.interval or 'no interval'}",
        _with_spread(before), _with_spread(after), speed.text,
    )  # fmt: skip


def _cost_corner(view: ReportView, choice: CandidateView) -> Corner:
    """Cost per token where a price was given, else what has to be paid for: peak memory, else weight bytes."""
    labels = {COST: "cost per million tokens", PEAK_MEMORY: "peak memory", WEIGHT_BYTES: "weight bytes"}
    for name, label in labels.items():
        before, after = view.baseline.figure(name), choice.measured.figure(name)
        cost = ratio_to_baseline(view, choice, name)
        if cost.value:
            note = "" if name == COST else " (stands for cost: no price per hour was given)"
            detail = f"{label}{note}; {cost.interval}".rstrip("; ")
            headline, times = f"{cost.percent} of the {label}", f"÷{units.NBSP}{1 / cost.value:.2f}"
            return Corner("Cost", 1 / cost.value, headline, detail, _with_spread(before), _with_spread(after), times)
    why = units.missing_text("neither cost nor memory nor weight bytes of both")
    return Corner("Cost", None, why, "", "", "")


def _quality_corner(choice: CandidateView) -> Corner:
    gate = worst_gate(choice.verdict)
    if gate is None or gate.drop is None:
        why = units.missing_text(gate.reason if gate else f"the choice ended at {choice.verdict.stage}")
        return Corner("Quality", None, why, "", "", "")
    kept = (
        gate.candidate_score / gate.baseline_score if gate.candidate_score is not None and gate.baseline_score else None
    )
    limits = units.interval_text(gate.low, gate.high, "pt")
    return Corner(
        "Quality", kept, f"{units.points(gate.drop)} drop", f"{gate.slice}; {limits_name(gate)} {limits}",
        _score_text(gate.baseline_score, gate.counts.n), _score_text(gate.candidate_score, gate.counts.n),
        f"{units.percent(kept)} kept" if kept is not None else "",
    )  # fmt: skip


def _score_text(score: float | None, n: int) -> str:
    return f"{units.percent(score)} right, n{units.NBSP}={units.NBSP}{n:,}" if score is not None else units.NOT_MEASURED


def _with_spread(figure: Figure | None) -> str:
    spread = units.spread_text(figure)
    return f"{units.figure_text(figure)} ({spread})" if spread else units.figure_text(figure)
