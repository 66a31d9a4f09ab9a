"""The model as it is, on the reference engine: speed with its A/A control, quality with its A/A control, its texts."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.errors import BaselineError, EngineError
from paredown.evaluate import fidelity, smoke
from paredown.evaluate.smoke import Reference
from paredown.flow import quality, speed, twinning
from paredown.flow.context import Prepared, RunContext
from paredown.flow.speed import Trials
from paredown.hosts.running import RunningEngine
from paredown.records.candidate import Candidate
from paredown.records.golden import Evaluation, FidelityFloor, FidelityText
from paredown.store.run_store import RunStore

CONTROL_KEY = "control"
AGAIN = "baseline again"
PLAIN_TOKENS = 64


@dataclass(frozen=True)
class Texts:
    """Texts on which fidelity is measured, with the baseline's log-probabilities."""

    texts: tuple[FidelityText, ...]


@dataclass(frozen=True)
class Floor:
    """Fidelity of the baseline to itself, batched otherwise; None = it could not be measured."""

    floor: FidelityFloor | None


@dataclass(frozen=True)
class Baseline:
    """Everything that candidates are compared with.

    again:   the same trial a second time (speed A/A)
    control: the screening prompts again, batched otherwise (quality A/A)
    floor:   its texts again, batched otherwise (fidelity A/A); None = not measured
    """

    trials: Trials
    again: Trials
    reference: Reference
    texts: tuple[FidelityText, ...]
    screening: Evaluation
    confirmation: Evaluation
    control: Evaluation
    floor: FidelityFloor | None = None


@dataclass(frozen=True)
class Measured:
    """The baseline, and the run's prompts as they are asked from now on (some as choices)."""

    prepared: Prepared
    baseline: Baseline


def measure(context: RunContext, prepared: Prepared) -> Measured:
    """Measure the baseline, or take from the record what is already there. Raises BaselineError when it fails."""
    store, candidate = context.store, prepared.baseline
    store.once("candidate", candidate.name, Candidate, lambda: candidate)
    try:
        first, again = _speed(context, prepared)
        return _quality(context, prepared, first, again)
    except EngineError as error:
        raise BaselineError(
            f"The baseline failed, so there is nothing to compare with: {error}"
            + (f"\n{error.detail}" if error.detail else "")
        ) from error


def _speed(context: RunContext, prepared: Prepared) -> tuple[Trials, Trials]:
    store = context.store
    first = store.find("trial", f"{CONTROL_KEY}/{prepared.baseline.name}", Trials)
    again = store.find("trial", f"{CONTROL_KEY}/{AGAIN}", Trials)
    if first and again:
        return first, again
    start = context.starter(prepared.baseline)
    estimate_s = 2 * speed.CONTROL_BLOCKS * (15.0 + 10.0 * (len(prepared.traffics) - 1))
    with context.progress.stage("Baseline: speed and memory, twice (A/A)", estimate_s) as stage:
        made = speed.in_turns(
            context,
            prepared,
            {prepared.baseline.name: start, AGAIN: start},
            CONTROL_KEY,
            stage,
            blocks=speed.CONTROL_BLOCKS,
        )
    return made[prepared.baseline.name], made[AGAIN]


def _quality(context: RunContext, prepared: Prepared, first: Trials, again: Trials) -> Measured:
    """Texts, smoke reference and every golden prompt, on one process; nothing is started when all of it is stored."""
    store, candidate = context.store, prepared.baseline
    as_asked = twinning.from_record(store, prepared)
    found = stored(store, as_asked, first, again) if as_asked is not None else None
    if as_asked is not None and found is not None:
        return Measured(as_asked, found)
    items = len(prepared.golden.items) + len(prepared.screening)
    with (
        context.progress.stage(f"Baseline: {items} golden prompts, with A/A control", estimate_s=items * 0.2) as stage,
        context.starter(candidate)() as running,
    ):
        reference = store.once("smoke reference", candidate.name, Reference, lambda: smoke.reference(running))
        texts = store.once("texts", candidate.name, Texts, lambda: _texts(context, prepared, running), bulk=True)
        floor = store.once("fidelity floor", candidate.name, Floor, lambda: _floor(running, texts))
        if as_asked is None:
            as_written = quality.evaluate(context, running, candidate, "screening", prepared.screening, stage)
            as_asked = twinning.decide(context, prepared, as_written)
        screening = quality.evaluate(context, running, candidate, "screening", as_asked.screening, stage)
        confirmation = quality.evaluate(context, running, candidate, "confirmation", as_asked.confirmation, stage)
        control = quality.evaluate(
            context, running, candidate, "control", as_asked.screening, stage, quality.CONTROL_POLICY
        )
    made = Baseline(first, again, reference, texts.texts, screening, confirmation, control, floor.floor)
    return Measured(as_asked, made)


def _texts(context: RunContext, prepared: Prepared, running: RunningEngine) -> Texts:
    prompts, plain = fidelity.choose_prompts(prepared.screening), fidelity.plain_texts(tokens=PLAIN_TOKENS)
    furthest = fidelity.furthest_position(running, prepared.golden.items)
    return Texts(fidelity.baseline_texts(running, prompts, plain, furthest=furthest, seed=context.spec.seed))


def _floor(running: RunningEngine, texts: Texts) -> Floor:
    return Floor(fidelity.noise_floor(running, texts.texts))


def stored(store: RunStore, prepared: Prepared, first: Trials, again: Trials) -> Baseline | None:
    """The baseline's quality as it is in the record, None when a part is missing."""
    candidate = prepared.baseline
    reference = store.find("smoke reference", candidate.name, Reference)
    texts = store.find("texts", candidate.name, Texts)
    screening = quality.find_evaluation(store, candidate, "screening", prepared)
    confirmation = quality.find_evaluation(store, candidate, "confirmation", prepared)
    key = quality.evaluation_key(candidate, "control", prepared.screening, quality.CONTROL_POLICY, prepared.scorers)
    control = store.find("evaluation", key, Evaluation)
    if not (reference and texts and screening and confirmation and control):
        return None
    floor = store.find("fidelity floor", candidate.name, Floor)
    return Baseline(
        first, again, reference, texts.texts, screening, confirmation, control, floor.floor if floor else None
    )
