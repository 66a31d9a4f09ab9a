"""How a run ended, and the ladder of its candidates: rows of text with their sort keys."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.records.candidate import Rung
from paredown.records.figure import Figure
from paredown.records.golden import Fidelity
from paredown.records.verdict import Verdict
from paredown.report import units
from paredown.report.ratios import Ratio, ratio_of, ratio_to_baseline
from paredown.report.slice_rows import drop_text, worst_gate
from paredown.report.view import BASELINE, DECODE_SPEED, WEIGHT_BYTES, CandidateView, ReportView

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
