"""Everything that the record holds on one candidate, and the verdict that follows from it: pure, so that it can be
computed again, offline, by somebody else.
"""

from __future__ import annotations

from dataclasses import dataclass

from paredown.decide import gates, slices, targets
from paredown.decide import lengths as length_gate
from paredown.evaluate import lengths, scoring
from paredown.flow import confirmation, quality, speed, twinning
from paredown.flow.baseline import Baseline
from paredown.flow.confirmation import Attempt
from paredown.flow.context import Prepared
from paredown.flow.gates import MISSED, PASSED, Outcome
from paredown.flow.speed import Sides, Trials
from paredown.records.candidate import Candidate, PlannedCandidate
from paredown.records.figure import Figure
from paredown.records.golden import Evaluation, Fidelity, Smoke
from paredown.records.lengths import LengthRatio
from paredown.records.verdict import CandidateVerdict, SliceVerdict, Verdict
from paredown.spec.schema import RunSpec
from paredown.store.run_store import RunStore


@dataclass(frozen=True)
class Evidence:
    """What is known of one candidate; None = it did not get that far."""

    planned: PlannedCandidate
    outcome: Outcome | None
    candidate: Candidate | None = None
    smoke: Smoke | None = None
    fidelity: Fidelity | None = None
    screen: Trials | None = None
    final: Trials | None = None
    final_baseline: Trials | None = None
    screening: Evaluation | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def last(self) -> Attempt | None:
        """The last confirmation that has ended."""
        return next((one for one in reversed(self.attempts) if not one.walk.wanted), None)

    @property
    def confirmation(self) -> Evaluation | None:
        return self.last.candidate if self.last else None


def collect(store: RunStore, prepared: Prepared, planned: PlannedCandidate) -> Evidence:
    """Read everything on one candidate."""
    name = planned.name
    candidate = store.find("candidate", name, Candidate)
    known = Evidence(
        planned,
        store.find("outcome", name, Outcome),
        candidate,
        store.find("smoke", name, Smoke),
        store.find("fidelity", name, Fidelity),
    )
    if candidate is None:
        return known
    final = speed.final_key(candidate)
    return Evidence(
        known.planned,
        known.outcome,
        candidate,
        known.smoke,
        known.fidelity,
        screen=store.find("trial", speed.screen_key(candidate), Trials),
        final=store.find("trial", f"{final}/{name}", Trials),
        final_baseline=store.find("trial", f"{final}/{prepared.baseline.name}", Trials),
        screening=quality.find_evaluation(store, candidate, "screening", prepared),
        attempts=confirmation.attempts(store, prepared, candidate),
    )


def figures(evidence: Evidence, prepared: Prepared, baseline: Baseline, spec: RunSpec) -> Pair:
    """Figures of the candidate and of the baseline that was measured beside it (in turns, where they were)."""
    terms = speed.terms_of(spec, prepared)
    artifact = evidence.candidate.main if evidence.candidate else None
    own = speed.compute(evidence.final or evidence.screen, artifact, terms)
    beside = evidence.final_baseline if evidence.final else baseline.trials
    return Pair(own, speed.compute(beside, prepared.artifact, terms))


@dataclass(frozen=True)
class Pair:
    """Figures of a candidate and of the baseline."""

    candidate: tuple[Figure, ...]
    baseline: tuple[Figure, ...]


def judge(evidence: Evidence, prepared: Prepared, baseline: Baseline, spec: RunSpec) -> CandidateVerdict:
    """The verdict that the evidence carries. SHIP takes a confirmation on held-back prompts."""
    planned, outcome = evidence.planned, evidence.outcome
    pair = figures(evidence, prepared, baseline, spec)
    judged = _slices(evidence, prepared, baseline)
    written = _lengths(evidence, prepared, baseline)
    ratios = speed.against_baseline(
        evidence.final or evidence.screen,
        evidence.final_baseline if evidence.final else baseline.trials,
        Sides(
            evidence.candidate.main if evidence.candidate else None,
            prepared.artifact,
            speed.terms_of(spec, prepared),
        ),
        in_turns=evidence.final is not None and evidence.final_baseline is not None,
        control=(baseline.trials, baseline.again),
    )
    results = targets.check(prepared.targets, pair.candidate, pair.baseline, judged, ratios)
    verdict, reasons = _verdict(evidence, judged, written, spec)
    return CandidateVerdict(
        candidate=planned.name,
        stage=_stage(evidence),
        verdict=verdict,
        reasons=(*reasons, *differences(evidence.smoke), *uneven(evidence.fidelity, spec)),
        slices=judged,
        targets=results,
        figures=pair.candidate,
        smoke=evidence.smoke,
        prediction=planned.prediction,
        alpha=evidence.attempts[-1].confirmed.alpha if evidence.attempts else 0.0,
        error=outcome.error if outcome and outcome.stage not in (PASSED, MISSED) else "",
        ratios=ratios,
        lengths=written,
        looks=evidence.last.walk.looks if evidence.last and len(evidence.last.confirmed.sizes) > 1 else None,
    )


def _slices(evidence: Evidence, prepared: Prepared, baseline: Baseline) -> tuple[SliceVerdict, ...]:
    """On the held-back prompts when they were spent on this candidate, else on those that choose."""
    if evidence.last is not None:
        judged = confirmation.rows(evidence.attempts, prepared.margins)
        return twinning.told(judged, evidence.last.items, prepared.margins, prepared.twinned)
    if evidence.screening is not None:
        judged = slices.judge(
            baseline.screening,
            evidence.screening,
            prepared.screening,
            prepared.margins,
            alpha=0.05,
            chance=scoring.chance,
        )
        return twinning.told(judged, prepared.screening, prepared.margins, prepared.twinned)
    return ()


def _lengths(evidence: Evidence, prepared: Prepared, baseline: Baseline) -> LengthRatio | None:
    """Of the same prompts as the slices."""
    if evidence.last is not None:
        return lengths.compare(evidence.last.baseline, evidence.last.candidate, evidence.last.items)
    if evidence.screening is not None:
        return lengths.compare(baseline.screening, evidence.screening, prepared.screening)
    return None


def _verdict(
    evidence: Evidence, judged: tuple[SliceVerdict, ...], written: LengthRatio | None, spec: RunSpec
) -> tuple[Verdict, tuple[str, ...]]:
    outcome = evidence.outcome
    if outcome is None:
        return Verdict.INVESTIGATE, ("Not finished: the run was stopped before.",)
    if outcome.stage in ("smoke", "fidelity"):
        return Verdict.REJECT, (f"Stopped at the gate {outcome.stage}: {outcome.error}",)
    if outcome.stage == MISSED:
        return Verdict.INVESTIGATE, (f"Not judged on prompts, because it misses a target. {outcome.error}",)
    if outcome.stage != PASSED:
        return Verdict.INVESTIGATE, (f"Not judged: {outcome.error}",)
    combined = gates.combine(judged)
    if written is not None:
        combined = length_gate.decide(combined, length_gate.judge(written, spec.lengths))
    if evidence.last is None and combined.verdict is Verdict.SHIP:
        return Verdict.INVESTIGATE, ("Good on the prompts that choose; not confirmed on held-back prompts.",)
    return combined.verdict, combined.reasons


def _stage(evidence: Evidence) -> str:
    if evidence.attempts:
        return "confirmation"
    if evidence.outcome is not None and evidence.outcome.stage not in (PASSED, MISSED):
        return evidence.outcome.stage
    return "screening" if evidence.screening is not None else "speed"


def differences(found: Smoke | None) -> tuple[str, ...]:
    """What the files of a candidate declare otherwise than the baseline's: the first thing to look at."""
    return tuple(f"Differs from the baseline: {warning.detail}" for warning in found.warnings) if found else ()


def uneven(found: Fidelity | None, spec: RunSpec) -> tuple[str, ...]:
    """A language, slice or stretch of positions in which the candidate is much further from the baseline."""
    if found is None:
        return ()
    check = gates.fidelity(found, spec.fidelity.max_mean_kl, spec.fidelity.min_top1)
    return (f"Fidelity: {check.detail}",) if check.warns else ()
