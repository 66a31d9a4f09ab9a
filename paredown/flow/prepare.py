"""Everything that is known before the first measurement; refuses here what cannot work later."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown import __version__, registry
from paredown import machine as machines
from paredown.contracts import Engine
from paredown.decide.alpha import AlphaBudget
from paredown.decide.pairs import members
from paredown.environments.installed import missing
from paredown.errors import MissingPackageError, UnknownNameError, UserError
from paredown.evaluate import golden, scoring
from paredown.evaluate.golden import GoldenSet
from paredown.flow import asked, audit
from paredown.flow.asked import BASELINE, ItemIds
from paredown.flow.audit import Audited
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Progress
from paredown.hosts import tokenizer as tokenizers
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.models import artifact as artifacts
from paredown.models import describe, formats, source
from paredown.profile import ceilings
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.calibration import Calibration
from paredown.records.candidate import Candidate, Rung
from paredown.records.machine import Ceilings, Machine
from paredown.records.traffic import Workload
from paredown.records.verdict import Margin, Target
from paredown.spec import measurable
from paredown.spec.schema import RunSpec
from paredown.stats import sequential
from paredown.traffic import calibration
from paredown.traffic import load as traffics
from paredown.traffic.tokens import Tokens


@dataclass(frozen=True)
class Requested:
    """A request that can be carried out here: checked before anything is written."""

    source: Path
    facts: ModelFacts
    targets: tuple[Target, ...]
    margins: tuple[Margin, ...]
    golden: GoldenSet
    workloads: tuple[Workload, ...]
    machine: Machine
    tokens: LoadedTokenizer
    calibration: Calibration | None = None


def check(spec: RunSpec, cache: Path, progress: Progress) -> Requested:
    """Resolve and check everything that was asked. Raises UserError for what cannot be done."""
    _check_names(spec)
    targets = asked.targets_of(spec)
    host = machines.describe()
    measurable.check(targets, {m.name: m for m in registry.metrics()}, host, spec.price_usd_per_hour)
    golden_set = golden.load(spec.golden)
    margins = asked.margins_of(spec, targets, golden_set.slices)
    _check_scorers(spec, golden_set, progress)
    given = calibration.read(spec.calibration) if spec.calibration else None
    for source_name in spec.traffic:
        traffics.check(source_name, load=spec.load)
    with progress.stage(f"Model {spec.model}") as stage:
        path = source.resolve(
            spec.model,
            cache=cache,
            allow_pickle=spec.allow_pickle,
            trust_remote_code=spec.trust_remote_code,
            on_progress=stage.update,
        )
        facts = describe.facts(path)
    tokens = tokenizers.load(path)
    workloads = read_workloads(spec.traffic, tokens, load=spec.load, seed=spec.seed)
    return Requested(path, facts, targets, margins, golden_set, workloads, host, tokens, given)


def read_workloads(
    sources: Sequence[str], tokens: Tokens | None, *, load: str | None, seed: int
) -> tuple[Workload, ...]:
    """Every source of traffic. Raises UserError, also when two traffics would go by one name."""
    found = tuple(Workload(name, traffics.read(name, tokenizer=tokens, load=load, seed=seed)) for name in sources)
    names = [one.name for workload in found for one in workload.traffics]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"Two traffics are named {twice!r}. Leave one out, or give one of the files another name.")
    return found


def _check_names(spec: RunSpec) -> None:
    """Raises UnknownNameError for a technique or engine that does not exist."""
    techniques, engines = registry.names("techniques"), registry.names("engines")
    for kind, chosen, known in (
        ("technique", spec.techniques, (*techniques, *engines)),
        ("engine", spec.engines, engines),
    ):
        for name in (*chosen.only, *chosen.without):
            if name not in known:
                raise UnknownNameError(kind, name, known)


def _check_scorers(spec: RunSpec, golden_set: GoldenSet, progress: Progress) -> None:
    """Raises UserError for settings that a scorer refuses, and for one that cannot score here (no server)."""
    used = sorted({item.scorer for item in golden_set.items})
    for name in sorted(set(spec.scorers) - set(used)):
        progress.note(f"No golden prompt is scored by {name}: its settings change nothing (used: {', '.join(used)}).")
    scorers = [(scorer := registry.scorer(name), scoring.resolved(scorer, spec.scorers)) for name in used]
    for scorer, options in scorers:
        if scorer.bind is not None:
            scorer.bind(options)
    for scorer, options in scorers:
        if scorer.ready is not None:
            progress.note(scorer.ready(options))


def prepare(context: RunContext, requested: Requested, *, all_judge: bool = False) -> Prepared:
    """Put the request and all that it rests on into the record, before the first candidate runs.

    all_judge: every prompt is judged on, not only those that are held back to confirm
    Raises UserError for what the audit refuses.
    """
    spec, store = context.spec, context.store
    host = _machine(context, requested.machine)
    screened = asked.screened_before(store)
    split = golden.split(requested.golden, spec.seed, spec.screening_fraction, screened=screened)
    asked.remember(store, spec, __version__)
    facts = store.once("model", "source", ModelFacts, lambda: requested.facts)
    made = _artifact(context, requested.source, facts)
    _remember(context, requested.golden, frozenset(item.id for item in split.screening.items), requested.workloads)
    with context.progress.stage("Ceilings of this machine", estimate_s=10):
        measured = store.once("ceilings", "host", Ceilings, ceilings.measure)
    prepared = Prepared(
        facts=facts,
        artifact=made,
        machine=host,
        ceilings=measured,
        targets=requested.targets,
        margins=requested.margins,
        golden=requested.golden,
        screening=split.screening.items,
        confirmation=split.confirmation.items,
        traffics=tuple(one for workload in requested.workloads for one in workload.traffics),
        baseline=baseline_candidate(made, host),
        scorers=spec.scorers,
    )
    _say_what_is_coming(context, prepared)
    _audit(context, prepared, requested, all_judge=all_judge)
    return prepared


def baseline_candidate(artifact: Artifact, host: Machine) -> Candidate:
    """The model as it is, on the reference engine of its format. Raises UserError when none can run here."""
    opening = [engine for engine in registry.engines() if engine.baseline and artifact.format in engine.opens]
    if not opening:
        raise UserError(f"No reference engine opens the format {artifact.format!r}.")
    reason = missing(opening[0].needs)
    if reason:
        package = ", ".join(opening[0].needs.packages)
        raise MissingPackageError(f"The reference engine {opening[0].name}", package, reason.rpartition("run: ")[2])
    return resolved(BASELINE, Rung.BASELINE, opening[0], {"main": artifact}, host, {})


def resolved(
    name: str,
    rung: Rung,
    engine: Engine,
    made: Mapping[str, Artifact],
    host: Machine,
    wanted: Mapping[str, str | int | float | bool | None],
) -> Candidate:
    """A candidate with every option of its engine written out, and the versions that it runs on."""
    versions = {distribution: importlib.metadata.version(distribution) for distribution in engine.versions_of}
    options = engine.resolve(made.get("main"), host, wanted)
    return Candidate(name, rung, engine.name, options, made, versions=versions)


def _machine(context: RunContext, now: Machine) -> Machine:
    """The host; a run that was begun on another machine is not continued here."""
    before = context.store.find("machine", "host", Machine)
    if before is None:
        context.store.put("machine", "host", now)
        return now
    same = (before.processor, before.usable_cores, before.accelerators)
    if same != (now.processor, now.usable_cores, now.accelerators):
        raise UserError(
            f"{context.directory} was begun on another machine ({before.processor}, {before.usable_cores} cores; this "
            f"is {now.processor}, {now.usable_cores} cores). Speeds of two machines cannot be mixed: choose another "
            "directory with --run-dir."
        )
    return before


def _artifact(context: RunContext, path: Path, facts: ModelFacts) -> Artifact:
    """The source model on disk; a model whose bytes changed since the run began is refused."""
    now = artifacts.describe(
        path,
        format=formats.detect(path),
        parameters=facts.parameters,
        known_digests=context.cache / "digests.json",
    )
    before = context.store.once("artifact", BASELINE, Artifact, lambda: now)
    if before.digest != now.digest:
        raise UserError(f"The model in {path} has changed since this run began: choose another --run-dir.")
    return now


def _remember(
    context: RunContext, golden_set: GoldenSet, screening: frozenset[str], workloads: Sequence[Workload]
) -> None:
    """Prompts, splits and traffic go into the record before the first candidate runs."""
    store = context.store
    store.once("golden", golden_set.digest, GoldenSet, lambda: golden_set, bulk=True)
    store.once("screened", golden_set.digest, ItemIds, lambda: ItemIds(tuple(sorted(screening))))
    for workload in workloads:
        if store.find("traffic", workload.source, Workload) is None:
            store.put("traffic", workload.source, workload, bulk=True)


def _say_what_is_coming(context: RunContext, prepared: Prepared) -> None:
    """How many prompts the margins need against how many there are, and what to be careful with."""
    note = context.progress.note
    note(
        f"{prepared.facts.name}: {prepared.facts.parameters / 1e6:.0f} M parameters, {prepared.facts.dtype}, "
        f"{prepared.artifact.weight_bytes / 1e6:.0f} MB; {len(prepared.golden.items)} golden prompts "
        f"({len(prepared.screening)} choose, {len(prepared.confirmation)} confirm)"
    )
    gated = [margin for margin in prepared.margins if margin.gated]
    for margin in gated:
        note(_what_it_takes(context, prepared, margin, len(gated)))
    if prepared.facts.caution:
        note(prepared.facts.caution)


def _what_it_takes(context: RunContext, prepared: Prepared, margin: Margin, gates: int) -> str:
    """Prompts by which an unharmed candidate ships with 80 % probability, through all gates together."""
    looks = _looks(context)
    needed = audit.items_needed(margin.margin, gates, _next_level(context), looks)
    there = len(members(margin, prepared.confirmation))
    few = " (too few unless almost nothing flips)" if needed is None or there < needed else ""
    takes = "more prompts than can be asked" if needed is None else f"about {needed:,} held-back prompts"
    ends = "; it stops earlier when the verdict is clear" if looks > 1 and needed is not None else ""
    return (
        f"Gate {margin.slice!r}: to show a drop of at most {100 * margin.margin:g} points takes {takes} at "
        f"{100 * audit.FLIP_RATE:g} % flips{ends}. {there:,} are held back to confirm{few}"
    )


def _next_level(context: RunContext) -> float:
    return (context.store.find("alpha", "run", AlphaBudget) or AlphaBudget()).next_alpha


def _looks(context: RunContext) -> int:
    return sequential.LOOKS if context.spec.early_stopping else 1


def _audit(context: RunContext, prepared: Prepared, requested: Requested, *, all_judge: bool) -> None:
    """What is weak about prompts and calibration data, into the record and before the user, before a candidate runs."""
    given = requested.calibration
    if given is not None:
        context.store.once("calibration", given.digest, Calibration, lambda: given, bulk=True)
        context.progress.note(
            f"Calibration data: {len(given.samples):,} samples of {given.source}, {given.conversations:,} of them "
            "conversations. No technique that is installed takes calibration data yet; they are audited only."
        )
    audited = Audited(
        facts=prepared.facts,
        tokens=requested.tokens,
        margins=prepared.margins,
        screening=() if all_judge else prepared.screening,
        judged=prepared.golden.items if all_judge else prepared.confirmation,
        traffics=prepared.traffics,
        calibration=given,
        level=_next_level(context),
        looks=_looks(context),
    )
    found = audit.before(context.store, audited)
    for finding in (*found.refused, *found.warned):
        context.progress.note(f"Audit: {finding.sentence}")
    if found.refused:
        raise UserError(" ".join(finding.sentence for finding in found.refused))
