"""From what the record holds to verdicts and the decision. Pure but for reading: `verify` computes it all again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paredown.decide import decision
from paredown.decide.paragraph import About, Place
from paredown.errors import RecordError
from paredown.flow import baseline as baselines
from paredown.flow import evidence, speed
from paredown.flow.asked import Asked
from paredown.flow.baseline import AGAIN, CONTROL_KEY, Baseline
from paredown.flow.climb import Climb
from paredown.flow.context import Prepared
from paredown.flow.evidence import Evidence
from paredown.flow.speed import Trials
from paredown.records.candidate import LeftOut, Plan
from paredown.records.figure import Figure
from paredown.records.verdict import CandidateVerdict, Decision
from paredown.spec.schema import RunSpec
from paredown.store.run_store import RunStore

BUILTIN = "builtin"


@dataclass(frozen=True)
class Conclusion:
    """Everything that follows from the raw record."""

    decision: Decision
    verdicts: tuple[CandidateVerdict, ...]
    evidence: tuple[Evidence, ...]
    baseline: Baseline
    baseline_figures: tuple[Figure, ...]


def conclude(store: RunStore, prepared: Prepared, spec: RunSpec) -> Conclusion:
    """Verdicts of every candidate tried, and the decision. Raises RecordError when the run did not get that far."""
    base = baseline_of(store, prepared)
    plan, climbed = store.get("plan", "run", Plan), store.get("climb", "run", Climb)
    found = tuple(evidence.collect(store, prepared, planned) for planned in climbed.tried)
    verdicts = tuple(evidence.judge(one, prepared, base, spec) for one in found)
    left_out = (*plan.left_out, *climbed.left_out)
    wide = {one.planned.name: one.planned.same_engine_wide for one in found if one.planned.same_engine_wide}
    about = replace(_about(prepared, spec, left_out), wide=wide)
    directory = store.get("spec", "run", Asked).directory or store.directory
    places = {
        one.planned.name: Place(str(one.candidate.main.path), f"paredown serve {directory}")
        for one in found
        if one.candidate is not None
    }
    terms = speed.terms_of(spec, prepared)
    alone = speed.compute(base.trials, prepared.artifact, terms)
    first = decision.make(verdicts, alone, left_out, about, places)
    # The paragraph compares with the baseline that was measured in turns with the candidate that it is about.
    beside = next((one.final_baseline for one in found if one.planned.name == first.closest), None)
    figures = speed.compute(beside, prepared.artifact, terms) if beside else alone
    final = decision.make(verdicts, figures, left_out, about, places) if beside else first
    return Conclusion(final, verdicts, found, base, figures)


def baseline_of(store: RunStore, prepared: Prepared) -> Baseline:
    """The baseline as it is in the record. Raises RecordError when a part is missing."""
    first = store.get("trial", f"{CONTROL_KEY}/{prepared.baseline.name}", Trials)
    again = store.get("trial", f"{CONTROL_KEY}/{AGAIN}", Trials)
    found = baselines.stored(store, prepared, first, again)
    if found is None:
        raise RecordError(f"The record in {store.directory} ends before the baseline was evaluated.")
    return found


def _about(prepared: Prepared, spec: RunSpec, left_out: Sequence[LeftOut]) -> About:
    host = prepared.machine
    out_of_time = any("time budget" in one.reason for one in left_out)
    return About(
        model=prepared.facts.name,
        machine=f"{host.processor}, {host.usable_cores} cores",
        traffic=prepared.traffics[0].name,
        golden_builtin=tuple(spec.golden) == (BUILTIN,),
        targets_assumed=spec.targets_assumed,
        caution=prepared.facts.caution,
        stopped="the time budget ran out" if out_of_time else "",
    )
