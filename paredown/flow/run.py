"""The main job, from request to decision. The same command goes on where it was stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from paredown import registry
from paredown.contracts import PlanFacts
from paredown.environments.installed import missing
from paredown.flow import audit, bottleneck, conclude, explain, prepare, view
from paredown.flow import baseline as baselines
from paredown.flow.climb import Climb, climb
from paredown.flow.conclude import Conclusion
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Progress
from paredown.flow.record_place import make_directory
from paredown.plan import ladder
from paredown.records.candidate import Plan
from paredown.records.verdict import Decision
from paredown.report import files
from paredown.report.view import ReportView
from paredown.spec.schema import RunSpec, default_cache
from paredown.store.lock import exclusive
from paredown.store.run_store import RunStore


@dataclass(frozen=True)
class Finished:
    """A run that came to its end: the decision, what the report shows, and where the report lies."""

    decision: Decision
    view: ReportView
    report: Path


def run(spec: RunSpec, run_dir: Path | None, progress: Progress, command: str = "") -> Finished:
    """Do the whole job in `run_dir` (default: one named after the model and the request).

    Raises UserError for a wrong request, BaselineError when the baseline fails, RunInUseError, DiskFullError.
    What was measured before an error or a kill is kept.
    """
    cache = (spec.cache or default_cache()).resolve()
    requested = prepare.check(spec, cache, progress)
    directory = (run_dir or default_directory(spec)).resolve()
    make_directory(directory)
    with exclusive(directory), RunStore(directory, create=True) as store:
        deadline_s = time.monotonic() + spec.budget_s if spec.budget_s else None
        context = RunContext(spec, directory, cache, store, progress, deadline_s)
        _tell_what_is_there(context)
        prepared = prepare.prepare(context, requested)
        measured = baselines.measure(context, prepared)
        prepared, base = measured.prepared, measured.baseline
        asked = (*prepared.screening, *prepared.confirmation)
        for finding in audit.after_baseline(store, asked, (base.screening, base.confirmation)).warned:
            progress.note(f"Audit: {finding.sentence}")
        for placement in bottleneck.placements(prepared, prepared.baseline, base.trials):
            progress.note(placement.sentence)
        plan = _plan(context, prepared)
        climbed = climb(context, prepared, base, plan)
        if store.find("climb", "run", Climb) != climbed:
            store.put("climb", "run", climbed)
        conclusion = conclude.conclude(store, prepared, spec)
        explain.remember(store, prepared, conclusion)
        decision = _with_digest(store, conclusion)
        shown = view.make(store, prepared, spec, replace(conclusion, decision=decision), command)
        with progress.stage("Report"):
            report = files.write(shown, directory)
        return Finished(decision, shown, report)


def default_directory(spec: RunSpec) -> Path:
    """`paredown-runs/MODEL-DIGEST`: prompts can be added to a run, so they are not part of its name."""
    name = Path(spec.model).name or "model"
    return Path("paredown-runs") / f"{name}-{spec.model_copy(update={'golden': ()}).digest()[:8]}"


def _tell_what_is_there(context: RunContext) -> None:
    count = sum(1 for _ in context.store.entries())
    if count:
        found = context.store.find("decision", "final", Decision)
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime((context.directory / "record.sqlite").stat().st_mtime))
        what = f"decided {found.verdict.value} then" if found else "stopped before a decision"
        context.progress.note(
            f"Going on in {context.directory} (last written {when}, {what}); nothing is measured twice"
        )


def _plan(context: RunContext, prepared: Prepared) -> Plan:
    spec = context.spec

    def make() -> Plan:
        facts = PlanFacts(prepared.facts, prepared.machine, targets=spec.targets)
        return ladder.make(
            facts,
            registry.techniques(),
            registry.engines(),
            missing,
            spec.techniques.only,
            spec.techniques.without,
            only_engines=spec.engines.only,
            without_engines=spec.engines.without,
            source_format=prepared.artifact.format,
            device=context.device,
        )

    plan = make()
    if context.store.find("plan", "run", Plan) != plan:
        context.store.put("plan", "run", plan)
    names = ", ".join(candidate.name for candidate in plan.candidates) or "none"
    context.progress.note(f"Plan, in this order: {names}; {len(plan.left_out)} left out (reasons in the report)")
    return plan


def _with_digest(store: RunStore, conclusion: Conclusion) -> Decision:
    """Verdicts and decision go into the record; the paragraph then ends with the digest of all before it."""
    for verdict in conclusion.verdicts:
        if store.find("verdict", verdict.candidate, type(verdict)) != verdict:
            store.put("verdict", verdict.candidate, verdict)
    if store.find("decision", "final", Decision) != conclusion.decision:
        store.put("decision", "final", conclusion.decision)
    paragraph = f"{conclusion.decision.paragraph} · Record: {store.root_digest()}"
    return replace(conclusion.decision, paragraph=paragraph)
