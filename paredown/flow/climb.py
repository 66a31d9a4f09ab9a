"""Rung by rung: every candidate through its gates, then one of them confirmed on held-back prompts.

It stops at the first rung whose best candidate meets every target; `exhaust` goes on and judges the rest on the
prompts that choose. Each confirmation spends from one error budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from paredown.decide import alpha, choose, decision, targets
from paredown.decide.alpha import AlphaBudget
from paredown.errors import EngineError
from paredown.flow import confirmation, evidence, gates, quality, speed
from paredown.flow.baseline import Baseline
from paredown.flow.confirmation import Attempt, Confirmed
from paredown.flow.context import Prepared, RunContext
from paredown.flow.gates import MISSED, PASSED, Outcome
from paredown.flow.progress import Part
from paredown.records.candidate import Candidate, LeftOut, Plan, PlannedCandidate
from paredown.records.verdict import CandidateVerdict, Verdict
from paredown.spec.targets import QUALITY_DROP


@dataclass(frozen=True)
class Climb:
    """What was tried, in the order of the ladder, and what was left out on the way."""

    tried: tuple[PlannedCandidate, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def climb(context: RunContext, prepared: Prepared, baseline: Baseline, plan: Plan) -> Climb:
    """Go up the ladder until the targets are met, the plan or the time is used up."""
    tried: list[PlannedCandidate] = []
    left_out: list[LeftOut] = []
    notes: list[str] = []
    met_at: str | None = None
    for rung, members in groupby(plan.candidates, key=lambda candidate: candidate.rung):
        name = rung.name.lower().replace("_", " ")
        in_rung: list[PlannedCandidate] = []
        for planned in members:
            reason = _why_not(context, met_at)
            if reason:
                left_out.append(LeftOut(planned.name, planned.rung, reason))
                continue
            gates.run(context, prepared, baseline, planned)
            tried.append(planned)
            in_rung.append(planned)
        if met_at is None and in_rung and _confirm_best(context, prepared, baseline, in_rung):
            met_at = name
            notes.append(f"Every target was met at the rung {name!r}.")
            context.progress.note(notes[-1])
    if met_at is None:
        _judge_closest(context, prepared, baseline, tried)
    return Climb(tuple(tried), tuple(left_out), tuple(notes))


def _judge_closest(
    context: RunContext, prepared: Prepared, baseline: Baseline, tried: Sequence[PlannedCandidate]
) -> None:
    """When nothing meets the targets, the candidate that comes closest gets its prompts after all."""
    found = {planned.name: evidence.collect(context.store, prepared, planned) for planned in tried}
    verdicts = [evidence.judge(one, prepared, baseline, context.spec) for one in found.values()]
    closest = choose.closest(verdicts)
    if closest is None:
        return
    outcome = found[closest.candidate].outcome
    if outcome is not None and outcome.stage == MISSED:
        gates.judge_after_all(context, prepared, closest.candidate)


def _why_not(context: RunContext, met_at: str | None) -> str:
    if met_at is not None and not context.spec.exhaust:
        return f"not needed: every target was met at the rung {met_at!r} (--exhaust tries it all the same)"
    if context.out_of_time():
        return "the time budget was used up (--budget; the same command goes on from here)"
    return ""


def _confirm_best(
    context: RunContext, prepared: Prepared, baseline: Baseline, in_rung: Sequence[PlannedCandidate]
) -> bool:
    """Measure and confirm the best of a rung; the next best when it fails. True when one ships and meets all."""
    for planned in _promising(context, prepared, baseline, in_rung):
        if context.out_of_time():
            return False
        verdict = _confirm(context, prepared, baseline, planned)
        if verdict is not None and verdict.verdict is Verdict.SHIP and decision.meets_every_target(verdict):
            return True
    return False


def _promising(
    context: RunContext, prepared: Prepared, baseline: Baseline, in_rung: Sequence[PlannedCandidate]
) -> list[PlannedCandidate]:
    """Candidates of a rung that may meet every target by what screening saw, the likeliest to be confirmed first."""
    verdicts = []
    for planned in in_rung:
        found = evidence.collect(context.store, prepared, planned)
        if found.outcome is not None and found.outcome.stage == PASSED:
            verdicts.append(evidence.judge(found, prepared, baseline, context.spec))
    hopeful = [v for v in verdicts if not any(targets.clearly_missed(result) for result in v.targets)]
    budget = context.store.find("alpha", "run", AlphaBudget) or AlphaBudget()
    order = choose.for_confirmation(
        hopeful,
        {planned.name: planned.rung for planned in in_rung},
        prompts_ratio=len(prepared.confirmation) / max(1, len(prepared.screening)),
        alpha=budget.next_alpha,
    )
    by_name = {planned.name: planned for planned in in_rung}
    return [by_name[name] for name in order]


def misses(verdict: CandidateVerdict) -> bool:
    """Whether a figure misses its target; a drop is for the gates to judge."""
    return any(r.met is False for r in verdict.targets if r.target.metric != QUALITY_DROP)


def _confirm(
    context: RunContext, prepared: Prepared, baseline: Baseline, planned: PlannedCandidate
) -> CandidateVerdict | None:
    """Trials in turns with the baseline, then the held-back prompts, once. None when its engine failed meanwhile."""
    store = context.store
    candidate = store.get("candidate", planned.name, Candidate)
    try:
        _measure_in_turns(context, prepared, candidate)
        found = evidence.collect(store, prepared, planned)
        measured = evidence.judge(found, prepared, baseline, context.spec)
        if misses(measured):
            context.progress.note(f"{planned.name} misses a target when measured in turns with the baseline")
            return measured
        _ask(context, prepared, candidate)
    except EngineError as error:
        store.put("outcome", planned.name, Outcome(planned.name, "confirmation", str(error), error.detail))
        context.progress.note(f"{planned.name} failed while it was confirmed: {error}")
        return None
    return evidence.judge(evidence.collect(store, prepared, planned), prepared, baseline, context.spec)


def _measure_in_turns(context: RunContext, prepared: Prepared, candidate: Candidate) -> None:
    key = speed.final_key(candidate)
    if context.store.find("trial", f"{key}/{candidate.name}", speed.Trials) is not None:
        return
    starts = {
        prepared.baseline.name: context.starter(prepared.baseline),
        candidate.name: context.starter(candidate),
    }
    title = f"{candidate.name} and the baseline in turns, {speed.FINAL_BLOCKS} fresh processes each"
    with context.progress.stage(title, estimate_s=speed.FINAL_BLOCKS * 25.0) as stage:
        speed.in_turns(context, prepared, starts, key, stage, blocks=speed.FINAL_BLOCKS)


def _ask(context: RunContext, prepared: Prepared, candidate: Candidate) -> None:
    """The held-back prompts, look by look, until the confirmation ends. A killed run goes on where it was."""
    store = context.store
    history = confirmation.attempts(store, prepared, candidate)
    if not history or not history[-1].walk.wanted:
        if not _begin(context, prepared, candidate, history):
            return
        history = confirmation.attempts(store, prepared, candidate)
    planned = len(history[-1].items)
    title = (
        f"Confirming {candidate.name} on {'up to ' if context.spec.early_stopping else ''}{planned} held-back prompts"
    )
    with context.progress.stage(title) as stage, context.starter(candidate)() as running:
        while wanted := history[-1].walk.wanted:
            done = len(history[-1].answered)
            part = Part(stage, done / planned, (done + len(wanted)) / planned)
            quality.evaluate(context, running, candidate, "confirmation", wanted, part)
            history = confirmation.attempts(store, prepared, candidate)
    ended = history[-1].walk.looks
    if ended is not None and ended.asked < ended.planned:
        context.progress.note(
            f"{candidate.name}: {ended.asked} of {ended.planned} held-back prompts were enough "
            f"({ended.looks_made} of {ended.looks_planned} looks). {ended.why}"
        )


def _begin(context: RunContext, prepared: Prepared, candidate: Candidate, history: Sequence[Attempt]) -> bool:
    """Freeze a confirmation and take its share of the error budget; False when there is nothing to confirm.

    The budget is written first: a kill between the two costs nothing, since the same attempt spends only once.
    """
    store, key = context.store, confirmation.key_of(candidate, prepared)
    if store.find(confirmation.KIND, key, Confirmed) is not None:
        return False
    budget = store.find("alpha", "run", AlphaBudget) or AlphaBudget()
    proposed = confirmation.propose(history, prepared, budget.next_alpha, context.spec.seed)
    if proposed.why_not:
        context.progress.note(f"{candidate.name} is not confirmed again: {proposed.why_not}")
        return False
    digests = tuple(quality.item_digest(item) for item in proposed.items)
    spending = alpha.spend(budget, candidate.digest(), digests)
    levels = (spending.alpha, spending.budget.next_alpha)
    frozen = confirmation.freeze(proposed, prepared, candidate, levels, early=context.spec.early_stopping)
    store.put("alpha", "run", spending.budget)
    store.put(confirmation.KIND, key, frozen)
    return True
