"""One candidate through the gates, cheap ones first: apply → smoke → fidelity → speed → golden sets.

Whatever happens to a candidate is a recorded outcome of that candidate; the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from paredown import registry
from paredown.decide import dominance, targets
from paredown.decide import gates as verdict_gates
from paredown.decide.dominance import Contender
from paredown.errors import EngineError, TechniqueError, UserError
from paredown.flow import cheap_gates, quality, speed
from paredown.flow.baseline import Baseline
from paredown.flow.cheap_gates import BaselineSide
from paredown.flow.context import Prepared, RunContext
from paredown.flow.prepare import resolved
from paredown.flow.progress import Part, Stage
from paredown.flow.speed import Trials
from paredown.hosts.running import RunningEngine
from paredown.models import artifact as artifacts
from paredown.optimize import apply
from paredown.records import codec
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, PlannedCandidate
from paredown.records.golden import Check, Fidelity, Smoke

PASSED = "passed"
MISSED = "missed"
_DROPPED = "dropped after the short trial: {} is faster beyond noise, no larger and no less faithful"


@dataclass(frozen=True)
class Outcome:
    """How far a candidate came.

    stage: the gate that stopped it (`apply`, `smoke`, `fidelity`, `speed`), `missed` when its figures miss a target so
           that no prompt was spent on it, or `passed`
    error: one sentence of what went wrong with its technique or engine; detail: tail of the log
    """

    candidate: str
    stage: str
    error: str = ""
    detail: str = ""


def run(context: RunContext, prepared: Prepared, baseline: Baseline, planned: PlannedCandidate) -> Outcome:
    """Take one candidate through every gate, or return what an earlier run found."""
    found = context.store.find("outcome", planned.name, Outcome)
    spared = found is not None and found.stage in (MISSED, "speed")
    if found is not None and not (spared and context.spec.exhaust):
        return found
    with context.progress.stage(f"Candidate {planned.name}") as stage:
        outcome = _through_the_gates(context, prepared, baseline, planned, stage)
    context.store.put("outcome", planned.name, outcome)
    if outcome.stage == MISSED:
        context.progress.note(f"{planned.name} misses a target, so no prompt is spent on it: {outcome.error}")
    elif outcome.stage != PASSED:
        context.progress.note(f"{planned.name} stopped at the gate {outcome.stage!r}: {outcome.error}")
    return outcome


def _through_the_gates(
    context: RunContext, prepared: Prepared, baseline: Baseline, planned: PlannedCandidate, stage: Stage
) -> Outcome:
    gate = "apply"
    try:
        stage.update(0.02, "making the artifact")
        candidate = make(context, prepared, planned, stage)
        gate = "smoke"
        changed = _changed(prepared, planned, candidate)
        if changed.passed is False:
            context.store.put("smoke", candidate.name, Smoke(candidate.name, (changed,)))
            return Outcome(candidate.name, gate, changed.detail)
        failed = _cheap_gates(context, prepared, baseline, candidate, changed, stage)
        if failed is not None:
            return failed
        gate = "speed"
        stopped = _speed_and_quality(context, prepared, baseline, candidate, stage)
        if stopped is not None:
            return stopped
    except TechniqueError as error:
        return Outcome(planned.name, gate, str(error), error.detail)
    except EngineError as error:
        return Outcome(planned.name, gate, str(error), error.detail)
    except UserError as error:
        return Outcome(planned.name, gate, str(error))
    return Outcome(planned.name, PASSED)


def make(context: RunContext, prepared: Prepared, planned: PlannedCandidate, stage: Stage) -> Candidate:
    """The candidate with its artifacts made (or taken from the cache) and every option written out."""
    found = context.store.find("candidate", planned.name, Candidate)
    if found is not None and all(artifact.path.is_dir() for artifact in found.artifacts.values()):
        return found
    made: dict[str, Artifact] = {"main": prepared.artifact}
    for step in planned.steps:
        made[step.role] = apply.make(
            registry.technique(step.technique),
            step,
            made,
            cache=context.cache,
            parameters=prepared.facts.parameters,
            on_progress=lambda fraction, text: stage.update(0.02 + 0.3 * fraction, text),
            devices=(context.device,),
            seed=context.spec.seed,
        )
    engine = registry.engine(planned.engine)
    candidate = resolved(planned.name, planned.rung, engine, made, prepared.machine, planned.engine_options)
    context.store.put("candidate", planned.name, candidate)
    return candidate


def _changed(prepared: Prepared, planned: PlannedCandidate, candidate: Candidate) -> Check:
    """Whether the artifact is what its rung claims, by its own files."""
    if not any(registry.technique(step.technique).changes_weights for step in planned.steps):
        return Check("changed", None, "a lossless step: no weight is meant to change")
    return artifacts.was_optimized(prepared.artifact, candidate.main, artifacts.claimed_bits(planned.rung))


def _cheap_gates(
    context: RunContext, prepared: Prepared, baseline: Baseline, candidate: Candidate, changed: Check, stage: Stage
) -> Outcome | None:
    """Smoke, then fidelity, from the record where they are there; None when both are passed."""
    store = context.store
    found, compared = store.find("smoke", candidate.name, Smoke), store.find("fidelity", candidate.name, Fidelity)
    if found is None or compared is None:

        def keep(smoked: Smoke) -> None:
            store.put("smoke", candidate.name, smoked)
            for warning in smoked.warnings:
                context.progress.note(f"{candidate.name} differs from the baseline: {warning.detail}")

        base = BaselineSide(baseline.reference, baseline.texts, baseline.floor)
        found, compared = cheap_gates.ask(context, prepared, base, candidate, changed, Part(stage, 0.35, 0.55), keep)
        if compared is not None:
            store.put("fidelity", candidate.name, compared, bulk=True)
    if not found.passed:
        failed = [check for check in found.checks if check.passed is False]
        return Outcome(candidate.name, "smoke", "; ".join(f"{check.name}: {check.detail}" for check in failed))
    assert compared is not None
    limits = context.spec.fidelity
    judged = verdict_gates.fidelity(compared, limits.max_mean_kl, limits.min_top1)
    if judged.warns:
        context.progress.note(f"{candidate.name}: fidelity to the baseline: {judged.detail}")
    return Outcome(candidate.name, "fidelity", judged.detail) if judged.passed is False else None


def _speed_and_quality(
    context: RunContext, prepared: Prepared, baseline: Baseline, candidate: Candidate, stage: Stage
) -> Outcome | None:
    """A short trial in a fresh process, then the screening prompts in the same one, unless they would be wasted."""
    with ExitStack() as stack:
        shared: dict[str, RunningEngine] = {}

        def start() -> _Kept:
            shared["running"] = stack.enter_context(context.starter(candidate)())
            return _Kept(shared)

        stage.update(0.55, "speed: short trial")
        trials = speed.screen(context, prepared, candidate, start)
        if not context.spec.exhaust:
            worse_than = _dominated(context, baseline, candidate)
            if worse_than is not None:
                return Outcome(candidate.name, "speed", _DROPPED.format(worse_than))
            missed = _missed(context, prepared, baseline, candidate, trials)
            if missed:
                return Outcome(candidate.name, MISSED, missed)
        if quality.find_evaluation(context.store, candidate, "screening", prepared) is None:
            running = shared.get("running") or stack.enter_context(context.starter(candidate)())
            quality.evaluate(context, running, candidate, "screening", prepared.screening, Part(stage, 0.65, 1.0))
        return None


def judge_after_all(context: RunContext, prepared: Prepared, name: str) -> None:
    """Spend the screening prompts on a candidate that missed a target: it came closest, so its quality matters."""
    candidate = context.store.get("candidate", name, Candidate)
    title = f"{name} comes closest: {len(prepared.screening)} prompts"
    try:
        with context.progress.stage(title) as stage, context.starter(candidate)() as running:
            quality.evaluate(context, running, candidate, "screening", prepared.screening, stage)
    except EngineError as error:
        context.store.put("outcome", name, Outcome(name, "screening", str(error), error.detail))
        return
    context.store.put("outcome", name, Outcome(name, PASSED))


def _missed(context: RunContext, prepared: Prepared, baseline: Baseline, candidate: Candidate, trials: Trials) -> str:
    """The targets that the short trial clearly misses, or nothing."""
    terms = speed.terms_of(context.spec, prepared)
    found = targets.check(
        prepared.targets,
        speed.compute(trials, candidate.main, terms),
        speed.compute(baseline.trials, prepared.artifact, terms),
    )
    return " ".join(f"{result.target.text}: {result.reason}" for result in found if targets.clearly_missed(result))


def _dominated(context: RunContext, baseline: Baseline, candidate: Candidate) -> str | None:
    """Compare with every candidate that has passed before; noise is what the baseline's A/A control showed."""
    store = context.store
    passed = [codec.loads(Outcome, store.body(entry)) for entry in store.entries("outcome")]
    names = [outcome.candidate for outcome in passed if outcome.stage in (PASSED, MISSED)]
    rivals = [_contender(context, store.get("candidate", name, Candidate)) for name in names]
    own = _contender(context, candidate)
    return dominance.dominated_by(own, rivals, 1.0 + speed.noise_of_one_block(baseline.trials, baseline.again))


def _contender(context: RunContext, candidate: Candidate) -> Contender:
    trials = context.store.find("trial", speed.screen_key(candidate), Trials)
    found = context.store.find("fidelity", candidate.name, Fidelity)
    return Contender(candidate.name, candidate.rung, speed.compute(trials, candidate.main, speed.Terms()), found)


class _Kept:
    """Lends a running engine to a trial without closing it afterwards."""

    def __init__(self, shared: Mapping[str, RunningEngine]) -> None:
        self._shared = shared

    def __enter__(self) -> RunningEngine:
        return self._shared["running"]

    def __exit__(self, *_: object) -> None:
        """Its owner closes it."""
