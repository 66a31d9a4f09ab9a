"""What every form of the report shows, worked out once from the view: rows of text with their sort keys."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paredown.records.candidate import Rung
from paredown.records.figure import Figure
from paredown.records.golden import Fidelity
from paredown.records.verdict import CandidateVerdict, SliceVerdict, TargetResult, Verdict
from paredown.report import units
from paredown.report.view import (
    BASELINE,
    COST,
    DECODE_SPEED,
    PEAK_MEMORY,
    QUALITY_DROP,
    WEIGHT_BYTES,
    CandidateView,
    ReportView,
)

RUNGS = {
    Rung.BASELINE: "baseline",
    Rung.LOSSLESS: "lossless",
    Rung.EIGHT_BIT: "8 bits",
    Rung.FOUR_BIT: "4 bits",
    Rung.STRUCTURE: "structure",
    Rung.TRAINING: "training",
}


@dataclass(frozen=True)
class Badge:
    """How a run ended. class_: `ship`, `missed` or `investigate`."""

    class_: str
    words: str
    meaning: str


def badge(view: ReportView) -> Badge:
    if view.decision.exit_status == 0:
        return Badge("ship", "SHIP", "a candidate ships and meets every target")
    if view.decision.exit_status == 4:
        return Badge("investigate", "INVESTIGATE", "more prompts or trials are needed to tell")
    if view.decision.verdict is Verdict.REJECT:
        return Badge("missed", "REJECT", "nothing that was tried is good enough; the closest candidate is named")
    return Badge("missed", "TARGETS NOT MET", "nothing meets all targets; the closest candidate is named")


@dataclass(frozen=True)
class Ratio:
    """A figure over the baseline's. value None = not measured (`missing` says why).

    low, high: by the rounds in which both were measured in turns; differs False = no difference beyond noise
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    missing: str = ""
    differs: bool | None = None

    @property
    def text(self) -> str:
        return units.missing_text(self.missing) if self.value is None else units.ratio(self.value)

    @property
    def percent(self) -> str:
        return units.missing_text(self.missing) if self.value is None else units.percent(self.value, 0)

    @property
    def interval(self) -> str:
        """`3.50–3.72×`, and whether that is a difference at all; empty where the two were not measured in turns."""
        if self.value is None or (self.low is None and self.high is None):
            return ""
        limits = units.interval_text(self.low, self.high, "ratio")
        return f"{limits}, no difference beyond noise" if self.differs is False else limits


def ratio_to_baseline(view: ReportView, candidate: CandidateView, name: str, absent: str = "") -> Ratio:
    """By rounds where both were measured in turns, else the quotient of the two figures without limits."""
    found = next((one for one in candidate.verdict.ratios if one.figure == name and one.in_turns), None)
    if found is None:
        return ratio_of(candidate.measured.figure(name), view.baseline.figure(name), absent)
    return Ratio(found.ratio, found.low, found.high, differs=found.differs)


def ratio_of(figure: Figure | None, base: Figure | None, absent: str = "") -> Ratio:
    """`figure` ÷ `base`; not measured when either is not or is of a void trial, or when the baseline's is zero."""
    for of, one in (("", figure), ("of the baseline: ", base)):
        if one is not None and one.value is not None and one.void:
            return Ratio(None, missing=f"{of}{one.note}")
    if figure is None or figure.value is None:
        return Ratio(None, missing=(figure.missing if figure else "") or absent)
    if base is None or base.value is None:
        return Ratio(None, missing="of the baseline: " + ((base.missing if base else "") or units.NOT_MEASURED))
    if base.value == 0:
        return Ratio(None, missing="the baseline's figure is zero")
    return Ratio(figure.value / base.value)


@dataclass(frozen=True)
class LadderRow:
    """One candidate in the ladder table. `why` is the first reason of its verdict; `stage` the last gate it reached."""

    number: str
    name: str
    rung: str
    rung_order: int
    engine: str
    steps: str
    verdict: str
    stage: str
    why: str
    chosen: bool
    failed: bool
    speed: Ratio
    speed_spread: str
    weights: Ratio
    weights_text: str
    bits: str
    kl: float | None
    kl_text: str
    positions: str
    top1: float | None
    top1_text: str
    drop: float | None
    drop_text: str
    drop_limits: str
    predicted: tuple[str, ...]
    same_engine: str


def ladder(view: ReportView) -> tuple[LadderRow, ...]:
    return tuple(_ladder_row(view, index, candidate) for index, candidate in enumerate(view.candidates, 1))


def _ladder_row(view: ReportView, index: int, candidate: CandidateView) -> LadderRow:
    verdict, measured, fidelity = candidate.verdict, candidate.measured, candidate.fidelity
    reached = f"ended at {verdict.stage}" if verdict.stage else ""
    speed_figure = measured.figure(DECODE_SPEED)
    speed = ratio_to_baseline(view, candidate, DECODE_SPEED, reached)
    weights = ratio_of(measured.figure(WEIGHT_BYTES), view.baseline.figure(WEIGHT_BYTES), reached)
    no_fidelity = units.missing_text((fidelity.missing if fidelity else "") or reached)
    kl, top1 = (fidelity.mean_kl, fidelity.top1_agreement) if fidelity else (None, None)
    gate = worst_gate(verdict)
    return LadderRow(
        number=str(index),
        name=candidate.name,
        rung=RUNGS[candidate.planned.rung],
        rung_order=int(candidate.planned.rung),
        engine=candidate.planned.engine,
        steps=", ".join(step.technique for step in candidate.planned.steps) or "none (weights as they are)",
        verdict=verdict.verdict.value,
        stage=verdict.stage,
        why=verdict.reasons[0] if verdict.reasons else "",
        chosen=candidate is view.choice,
        failed=bool(verdict.error),
        speed=speed,
        speed_spread=_speed_spread(speed_figure, speed),
        weights=weights,
        weights_text=units.figure_text(measured.figure(WEIGHT_BYTES), reached),
        bits=f"{measured.artifact.bits_per_parameter:.2f}{units.NBSP}bits/weight" if measured.artifact else "",
        kl=kl,
        kl_text=f"{units.number(kl, 2)}{units.NBSP}nats" if kl is not None else no_fidelity,
        positions=_positions(fidelity) if fidelity and kl is not None else "",
        top1=top1,
        top1_text=units.percent(top1) if top1 is not None else no_fidelity,
        drop=gate.drop if gate else None,
        drop_text=drop_text(gate, reached),
        drop_limits=f"{gate.slice} {units.interval_text(gate.low, gate.high, 'pt')}"
        if gate and gate.drop is not None
        else "",
        predicted=predicted_lines(candidate, speed),
        same_engine=same_engine_text(view, candidate),
    )


def _positions(fidelity: Fidelity) -> str:
    bound = f", lower bound from top-{fidelity.top_k}" if fidelity.top_k else ""
    return f"{fidelity.positions:,} positions{bound}"


def _speed_spread(figure: Figure | None, speed: Ratio) -> str:
    if figure is None or figure.value is None:
        return ""
    return ", ".join(
        filter(
            None,
            [
                units.figure_text(figure),
                speed.interval,
                f"n{units.NBSP}={units.NBSP}{figure.count}" if figure.count else "",
            ],
        )
    )


def worst_gate(verdict: CandidateVerdict) -> SliceVerdict | None:
    """The gated slice with the largest upper limit of the drop (an unbounded one first); None when none was judged."""
    gates = [s for s in verdict.slices if s.gated]
    gates = [s for s in gates if s.drop is not None] or gates
    return max(gates, key=lambda s: float("inf") if s.high is None else s.high, default=None)


def drop_text(gate: SliceVerdict | None, absent: str = "") -> str:
    if gate is None or gate.drop is None:
        return units.missing_text((gate.reason if gate else "") or absent)
    return units.points(gate.drop)


def predicted_lines(candidate: CandidateView, speed: Ratio) -> tuple[str, ...]:
    """What the plan expected beside what was measured, a line each; "no prediction" when it claimed nothing."""
    wanted = candidate.planned.prediction
    weights = candidate.measured.figure(WEIGHT_BYTES)
    parts = []
    if wanted.decode_speed_ratio is not None:
        got = units.ratio(speed.value) if speed.value is not None else units.NOT_MEASURED
        parts.append(f"speed {units.change(units.ratio(wanted.decode_speed_ratio), got)}")
    if wanted.weight_bytes is not None:
        got = units.size(weights.value) if weights and weights.value is not None else units.NOT_MEASURED
        parts.append(f"weights {units.change(units.size(wanted.weight_bytes), got)}")
    return tuple(parts) or ("no prediction",)


def same_engine_text(view: ReportView, candidate: CandidateView) -> str:
    """What the bits alone did: against the same engine at 16 or 32 bits."""
    if candidate.planned.rung <= Rung.LOSSLESS:
        return "full width"
    twin = candidate.planned.same_engine_wide
    wide = view.candidate(twin)
    if wide is None and twin not in (BASELINE, view.baseline.name):
        return f"{twin} was not run" if twin else "no 16- or 32-bit twin on this engine"
    measured = wide.measured if wide else view.baseline
    speed = ratio_of(candidate.measured.figure(DECODE_SPEED), measured.figure(DECODE_SPEED))
    weights = ratio_of(candidate.measured.figure(WEIGHT_BYTES), measured.figure(WEIGHT_BYTES))
    if speed.value is None and weights.value is None:
        return f"{units.NOT_MEASURED} against {measured.name}"
    faster = f"{speed.text} speed" if speed.value is not None else f"speed {units.NOT_MEASURED}"
    smaller = f"{weights.percent} of the bytes" if weights.value is not None else f"bytes {units.NOT_MEASURED}"
    return f"{faster}, {smaller} of {measured.name}"


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


def slice_rows(candidate: CandidateView | None) -> tuple[SliceVerdict, ...]:
    """Gates first, then watched slices by falling upper limit."""
    if candidate is None:
        return ()
    return tuple(
        sorted(candidate.verdict.slices, key=lambda s: (not s.gated, -(s.high if s.high is not None else 9.0), s.slice))
    )


def limits_name(row: SliceVerdict) -> str:
    return f"one-sided {100 * row.level:g}{units.NBSP}% limits"


def more_prompts_text(row: SliceVerdict) -> str:
    """How many more prompts would decide, unless the reason has said so already."""
    if row.verdict is not Verdict.INVESTIGATE:
        return ""
    if row.more_prompts is None:
        return "more prompts cannot decide this"
    said = f"{row.more_prompts} more" in row.reason or f"{row.more_prompts:,} more" in row.reason
    return "" if said else f"{row.more_prompts:,} more prompts would decide"
