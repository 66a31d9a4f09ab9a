"""The report's view, built from the record. Nothing is measured here."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime

from paredown import registry
from paredown.contracts import Evidence as MetricEvidence
from paredown.decide.alpha import AlphaBudget
from paredown.flow import asked, audit, bottleneck, explain, speed
from paredown.flow.climb import Climb
from paredown.flow.conclude import Conclusion
from paredown.flow.context import Prepared
from paredown.flow.evidence import Evidence
from paredown.flow.speed import Terms, Trials
from paredown.measure import figures
from paredown.records.candidate import Candidate
from paredown.records.figure import Figure, Samples, Scalar
from paredown.records.golden import Answer, Evaluation, FidelityFloor
from paredown.records.verdict import CandidateVerdict
from paredown.report.view import (
    BASELINE,
    AlphaSpent,
    AnswerView,
    Asked,
    CandidateView,
    GoldenFact,
    Measured,
    ReportView,
    RunRecord,
    TrafficFact,
    UnderTraffic,
    WorstAnswer,
)
from paredown.spec import margins
from paredown.spec.schema import RunSpec
from paredown.store.run_store import RunStore

DISTRIBUTIONS = ("ttft", "itl", "e2e")
MOST_LOST, MOST_GAINED = 12, 6
"""Of each candidate; all are in the record."""


def make(store: RunStore, prepared: Prepared, spec: RunSpec, concluded: Conclusion, command: str = "") -> ReportView:
    """Everything that the reports show."""
    climbed = store.get("climb", "run", Climb)
    terms = speed.terms_of(spec, prepared)
    beside = next((e.final_baseline for e in concluded.evidence if e.planned.name == concluded.decision.closest), None)
    base_trials = beside or concluded.baseline.trials
    base = prepared.baseline
    baseline = _measured(prepared, BASELINE, base.engine, base, base_trials, concluded.baseline_figures, terms)
    return ReportView(
        asked=_asked(prepared, spec, command),
        model=prepared.facts,
        machine=prepared.machine,
        ceilings=prepared.ceilings,
        baseline=baseline,
        candidates=tuple(
            _candidate(store, prepared, concluded, one, verdict, terms)
            for one, verdict in zip(concluded.evidence, concluded.verdicts, strict=True)
        ),
        decision=concluded.decision,
        record=_record(store, prepared, spec),
        noise_floor=_noise_floor(prepared, concluded),
        worst=_worst(prepared, concluded),
        notes=climbed.notes,
        findings=audit.recorded(store),
        alpha=_alpha(store),
    )


def _asked(prepared: Prepared, spec: RunSpec, command: str) -> Asked:
    traffic = tuple(
        TrafficFact(
            t.name,
            t.summary,
            t.load_shape,
            registry.load_shape(t.load_shape).concurrency(t.options),
            len(t.requests),
        )
        for t in prepared.traffics
    )
    golden = prepared.golden
    facts = tuple(GoldenFact(source, len(golden.items), golden.digest) for source in golden.sources)
    notes = ["No target was named: these are the default ones."] if spec.targets_assumed else []
    if margins.gates(prepared.targets, spec.gates, spec.watch, prepared.golden.slices).assumed:
        notes.append("No drop in quality was named: at most 2 points over all prompts are assumed.")
    targets = " ".join(f"--target {shlex.quote(text)}" for text in spec.targets)
    return Asked(
        spec.model,
        spec.targets,
        traffic,
        facts,
        spec.seed,
        command or f"paredown run {spec.model} {targets}",
        tuple(notes),
    )


def _measured(
    prepared: Prepared,
    name: str,
    engine: str,
    candidate: Candidate | None,
    trials: Trials | None,
    main: tuple[Figure, ...],
    terms: Terms,
) -> Measured:
    artifact = candidate.main if candidate else None
    under = tuple(
        UnderTraffic(
            trial.traffic,
            figures.compute(terms.evidence(trial, artifact)),
            tuple(_samples(trial_metric, terms.evidence(trial, artifact)) for trial_metric in DISTRIBUTIONS),
            trial.void,
        )
        for trial in (trials.trials if trials else ())
    )
    placed = bottleneck.placements(prepared, candidate, trials) if candidate else ()
    return Measured(name, engine, artifact, main, under, placed)


def _samples(metric: str, evidence: MetricEvidence) -> Samples:
    found = registry.metric(metric).compute(evidence)
    assert isinstance(found, Samples)
    return found


def _candidate(
    store: RunStore, prepared: Prepared, concluded: Conclusion, one: Evidence, verdict: CandidateVerdict, terms: Terms
) -> CandidateView:
    planned, trials = one.planned, one.final or one.screen
    measured = _measured(prepared, planned.name, planned.engine, one.candidate, trials, verdict.figures, terms)
    explanation = explain.stored(store, prepared, concluded.baseline, one)
    return CandidateView(
        planned,
        verdict,
        measured,
        one.fidelity,
        explanation if explanation.compared or one.fidelity is not None else None,
        explain.stored_sensitivity(store, one),
    )


def _alpha(store: RunStore) -> AlphaSpent | None:
    budget = store.find("alpha", "run", AlphaBudget)
    if budget is None or not budget.attempts:
        return None
    return AlphaSpent(budget.total, tuple(attempt.alpha for attempt in budget.attempts), budget.next_alpha)


def _noise_floor(prepared: Prepared, concluded: Conclusion) -> tuple[Figure, ...]:
    """What the baseline differs from itself by: speed in other processes, answers in other batches."""
    base = concluded.baseline
    floor = speed.noise_floor(base.trials, base.again, prepared)
    speeds = [
        Figure(one.figure, "ratio", one.ratio, one.rounds, "aa", one.low, one.high, note=_floor_note(floor))
        for one in speed.control_ratios(base.trials, base.again, prepared.artifact)
        if one.figure == speed.DECODE_SPEED
    ]
    scores = {score.item: score.value for score in base.screening.scores}
    pairs = [
        (scores[s.item], s.value) for s in base.control.scores if s.value is not None and scores.get(s.item) is not None
    ]
    flips = sum(1 for before, after in pairs if before != after)
    return (
        *(speeds or [Figure(speed.DECODE_SPEED, "ratio", None, missing="the control has no round of both")]),
        Figure(
            "answers_flipped",
            "fraction",
            flips / len(pairs) if pairs else None,
            len(pairs),
            missing="" if pairs else "no prompt has two scores",
            note=f"baseline again: {base.control.batch_policy}",
        ),
        _fidelity_floor(base.floor),
    )


def _fidelity_floor(floor: FidelityFloor | None) -> Figure:
    """Mean KL of the baseline to itself in nats."""
    if floor is None:
        return Figure("kl", "nats", None, missing="the baseline's texts were not scored again")
    note = f"baseline again, {floor.how}; a candidate below {floor.mean_kl_upper:.2g} nats does not differ from it"
    return Figure("kl", "nats", floor.mean_kl, floor.positions, "aa", high=floor.mean_kl_upper, note=note)


def _floor_note(floor: float) -> str:
    return f"baseline against itself in turns, fresh processes; less than {floor:.1%} is taken for no difference"


def _worst(prepared: Prepared, concluded: Conclusion) -> tuple[WorstAnswer, ...]:
    """Answers that changed, those of the chosen candidate first: its losses, then its gains."""
    closest = concluded.decision.closest
    items = {split: {item.id: item for item in prepared.items(split)} for split in explain.SPLITS}
    shown: list[WorstAnswer] = []
    for one in sorted(concluded.evidence, key=lambda one: one.planned.name != closest):
        flips = explain.flips(prepared, concluded.baseline, one)
        answers = {
            split: (_by_item(getattr(concluded.baseline, split)), _by_item(getattr(one, split)))
            for split in {flip.split for flip in flips}
        }
        for lost, most in ((True, MOST_LOST), (False, MOST_GAINED)):
            for flip in [flip for flip in flips if flip.lost is lost][:most]:
                before, after = answers[flip.split]
                item = items[flip.split][flip.item]
                shown.append(WorstAnswer(one.planned.name, item, before[item.id], after[item.id], gained=not flip.lost))
    return tuple(shown)


def _by_item(evaluation: Evaluation) -> Mapping[str, AnswerView]:
    answers: Mapping[str, Answer] = {answer.item: answer for answer in evaluation.answers}
    return {
        score.item: AnswerView(
            answers[score.item].text, answers[score.item].choice_logprobs, score.value, answers[score.item].failure
        )
        for score in evaluation.scores
    }


def _record(store: RunStore, prepared: Prepared, spec: RunSpec) -> RunRecord:
    entries = list(store.entries())
    settings: dict[str, Scalar] = {
        name: value if isinstance(value, str | int | float | bool) else json.dumps(value, ensure_ascii=False)
        for name, value in spec.decides().items()
    }
    settings |= {f"baseline {name}": value for name, value in prepared.baseline.engine_options.items()}
    return RunRecord(
        run_id=store.directory.name,
        root_digest=store.root_digest(),
        path=str(store.directory),
        started=_iso(entries[0].created_unix_ns),
        finished=_iso(entries[-1].created_unix_ns),
        versions={**prepared.machine.versions, "python": platform.python_version()},
        settings=settings,
        seeds={"splits": spec.seed},
        digests={
            "request": store.get("spec", "run", asked.Asked).digest,
            "model": prepared.artifact.digest,
            "golden set": prepared.golden.digest,
        },
    )


def _iso(unix_ns: int) -> str:
    return datetime.fromtimestamp(unix_ns / 1e9, tz=UTC).isoformat(timespec="seconds")
