"""Quality alone: score a model on golden prompts, or judge one directory by another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from paredown import registry
from paredown.decide import gates as verdict_gates
from paredown.decide import lengths as length_gate
from paredown.decide import slices
from paredown.environments.installed import missing
from paredown.errors import UserError
from paredown.evaluate import fidelity, lengths, smoke
from paredown.evaluate.answers import BatchPolicy
from paredown.flow import evidence, prepare, quality, record_place
from paredown.flow.baseline import FURTHEST_POSITION
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Progress
from paredown.models import artifact as artifacts
from paredown.models import checks, formats
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import Check, Evaluation, Fidelity, Smoke
from paredown.records.lengths import LengthRatio
from paredown.records.verdict import SliceVerdict, Verdict
from paredown.spec.schema import RunSpec, default_cache

ALPHA = 0.05


@dataclass(frozen=True)
class SliceScore:
    """Mean score of one slice; `unscored` items are not in it."""

    slice: str
    score: float | None
    scored: int
    unscored: int
    chance: float | None


@dataclass(frozen=True)
class Comparison:
    """One directory judged by another: what the gates found, slice by slice."""

    smoke: Smoke
    fidelity: Fidelity | None
    slices: tuple[SliceVerdict, ...]
    verdict: Verdict
    reasons: tuple[str, ...]
    baseline: Evaluation | None = None
    candidate: Evaluation | None = None
    lengths: LengthRatio | None = None


def evaluate(spec: RunSpec, run_dir: Path | None, progress: Progress) -> tuple[SliceScore, ...]:
    """Scores on every golden prompt, slice by slice."""
    with opened(spec, run_dir, progress) as context:
        prepared = prepare.prepare(context, prepare.check(spec, context.cache, progress))
        made = _evaluate(context, prepared, prepared.baseline)
        return slice_scores(prepared, made)


def slice_scores(prepared: Prepared, made: Evaluation) -> tuple[SliceScore, ...]:
    """Mean score of each slice, with what guessing would give."""
    values = {score.item: score.value for score in made.scores}
    rows = []
    for name in prepared.golden.slices:
        items = [item for item in prepared.golden.items if item.slice == name]
        scored = [value for item in items if (value := values.get(item.id)) is not None]
        levels = [level for item in items if (level := evidence.chance(item)) is not None]
        rows.append(
            SliceScore(
                name,
                sum(scored) / len(scored) if scored else None,
                len(scored),
                len(items) - len(scored),
                sum(levels) / len(levels) if levels else None,
            )
        )
    return tuple(rows)


def compare(spec: RunSpec, other: Path, run_dir: Path | None, progress: Progress) -> Comparison:
    """Judge the model in `other` by the model of the spec: smoke, fidelity, then every golden prompt in pairs."""
    with opened(spec, run_dir, progress) as context:
        prepared = prepare.prepare(context, prepare.check(spec, context.cache, progress))
        candidate = candidate_of(context, prepared, other)
        base = prepared.baseline
        with progress.stage("Baseline: answers and texts"), context.starter(base)() as running:
            reference = smoke.reference(running)
            prompts = fidelity.choose_prompts(prepared.golden.items)
            texts = fidelity.baseline_texts(
                running, prompts, fidelity.plain_texts(), furthest=FURTHEST_POSITION, seed=spec.seed
            )
            floor = fidelity.noise_floor(running, texts)
        level = registry.engine(candidate.engine).scoring
        with progress.stage("Candidate: smoke and fidelity"):
            with context.starter(candidate)() as running:
                first = smoke.answer(running, smoke.limits(reference))
            with context.starter(candidate)() as running:
                changed = Check("changed", None, "two directories were given: nothing is claimed")
                smoked = smoke.check(running, reference, candidate=candidate.name, changed=changed, reloaded=first)
                compared = fidelity.compare(running, texts, candidate=candidate.name, level=level, floor=floor)
        limits = spec.fidelity
        broken = verdict_gates.fidelity(compared, limits.max_mean_kl, limits.min_top1)
        if not smoked.passed or broken.passed is False:
            failed = [f"{c.name}: {c.detail}" for c in (*smoked.checks, broken) if c.passed is False]
            return Comparison(smoked, compared, (), Verdict.REJECT, tuple(failed))
        before, after = _evaluate(context, prepared, base), _evaluate(context, prepared, candidate)
    judged = slices.judge(before, after, prepared.golden.items, prepared.margins, alpha=ALPHA, chance=evidence.chance)
    written = lengths.compare(before, after, prepared.golden.items)
    combined = length_gate.decide(verdict_gates.combine(judged), length_gate.judge(written, spec.lengths))
    return Comparison(smoked, compared, judged, combined.verdict, combined.reasons, before, after, written)


def candidate_of(context: RunContext, prepared: Prepared, directory: Path) -> Candidate:
    """A model directory on the engine that opens its format, the reference engine first. Raises UserError."""
    if not directory.is_dir():
        raise UserError(f"{directory} is no directory. Give the directory of the model to be judged.")
    format_name = formats.detect(directory)
    checks.check_code(directory, trust_remote_code=context.spec.trust_remote_code)
    made = artifacts.describe(
        directory.resolve(),
        format=format_name,
        parameters=prepared.facts.parameters,
        known_digests=context.cache / "digests.json",
    )
    opening = [e for e in registry.engines() if format_name in e.opens and missing(e.needs) is None]
    if not opening:
        raise UserError(f"No engine that is installed opens the format {format_name!r} of {directory}.")
    engine = min(opening, key=lambda e: not e.baseline)
    return prepare.resolved("candidate", Rung.LOSSLESS, engine, {"main": made}, prepared.machine, {})


@contextmanager
def opened(spec: RunSpec, run_dir: Path | None, progress: Progress) -> Iterator[RunContext]:
    """A context with a record in `run_dir`, or in a temporary directory that goes away."""
    with record_place.opened(run_dir) as store:
        yield RunContext(spec, store.directory, (spec.cache or default_cache()).resolve(), store, progress)


def _evaluate(context: RunContext, prepared: Prepared, candidate: Candidate) -> Evaluation:
    items = prepared.golden.items
    title = f"{candidate.name}: {len(items)} golden prompts on {candidate.engine}"
    with context.progress.stage(title) as stage, context.starter(candidate)() as running:
        return quality.evaluate(context, running, candidate, "all", items, stage, BatchPolicy())
