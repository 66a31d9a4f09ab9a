"""Quality alone: score a model on golden prompts, or judge one directory by another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from paredown import registry
from paredown.decide import gates as verdict_gates
from paredown.decide import lengths as length_gate
from paredown.decide import slices
from paredown.environments.installed import missing
from paredown.errors import UserError
from paredown.evaluate import fidelity, lengths, scoring, smoke, twins, weight_changes
from paredown.evaluate.answers import BatchPolicy
from paredown.evaluate.twins import Twinned
from paredown.flow import audit, cheap_gates, evidence, prepare, quality, record_place, twinning
from paredown.flow.cheap_gates import BaselineSide
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Progress
from paredown.models import artifact as artifacts
from paredown.models import checks, formats
from paredown.records import codec
from paredown.records.candidate import Candidate, Rung
from paredown.records.figure import Options
from paredown.records.golden import (
    Check,
    Evaluation,
    Fidelity,
    GoldenItem,
    Smoke,
)
from paredown.records.lengths import LengthRatio
from paredown.records.verdict import SliceVerdict, Verdict
from paredown.spec.schema import RunSpec, default_cache

ALPHA = 0.05
MOST_REASONS = 5


@dataclass(frozen=True)
class SliceScore:
    """Mean score of one slice; `unscored` items are not in it.

    twins: how many of its items are asked as choices; such a row comes after that of the items as they are written
    """

    slice: str
    score: float | None
    scored: int
    unscored: int
    chance: float | None
    twins: int = 0


@dataclass(frozen=True)
class AsAsked:
    """A model's answers to all prompts as they are written, and to the same with twins where it is asked as choices.

    items: of `evaluation`, which is `as_written` when no slice is asked as choices
    """

    items: tuple[GoldenItem, ...]
    twinned: Twinned
    as_written: Evaluation
    evaluation: Evaluation


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
    """Scores on every golden prompt, slice by slice; once more as choices where the model writes too few right."""
    with opened(spec, run_dir, progress) as context:
        prepared = prepare.prepare(context, prepare.check(spec, context.cache, progress), all_judge=True)
        asked = _evaluate_as_asked(context, prepared, prepared.baseline)
        _say_what_was_found(context, prepared.golden.items, asked.as_written)
        return slice_scores(prepared.golden.items, asked)


def slice_scores(items: Sequence[GoldenItem], asked: AsAsked) -> tuple[SliceScore, ...]:
    """Mean score of each slice, with what guessing would give; behind it the same with twins where they are used."""
    rows = []
    for name in sorted({item.slice for item in items}):
        rows.append(_slice_score(name, items, asked.as_written))
        if name in asked.twinned.names:
            row = _slice_score(name, asked.items, asked.evaluation)
            rows.append(replace(row, twins=twins.count([i for i in asked.items if i.slice == name], asked.twinned)))
    return tuple(rows)


def _slice_score(name: str, all_items: Sequence[GoldenItem], made: Evaluation) -> SliceScore:
    values = {score.item: score.value for score in made.scores}
    items = [item for item in all_items if item.slice == name]
    scored = [value for item in items if (value := values.get(item.id)) is not None]
    levels = [level for item in items if (level := scoring.chance(item)) is not None]
    return SliceScore(
        name,
        sum(scored) / len(scored) if scored else None,
        len(scored),
        len(items) - len(scored),
        sum(levels) / len(levels) if levels else None,
    )


def _say_what_was_found(context: RunContext, items: Sequence[GoldenItem], made: Evaluation) -> None:
    """What scorers say on all their scores, and why prompts have none."""
    note = context.progress.note
    for sentence in scoring.summaries(items, made.scores).values():
        note(sentence)
    whys = Counter(score.why for score in made.scores if score.value is None)
    for why, count in whys.most_common(MOST_REASONS):
        note(f"{count} prompts were not scored: {why}" if count > 1 else f"1 prompt was not scored: {why}")


def compare(spec: RunSpec, other: Path, run_dir: Path | None, progress: Progress) -> Comparison:
    """Judge the model in `other` by the model of the spec; what is known of that one from `run_dir` is not repeated."""
    with opened(spec, run_dir, progress) as context:
        prepared = prepare.prepare(context, prepare.check(spec, context.cache, progress), all_judge=True)
        return judge(context, prepared, candidate_of(context, prepared, other))


def judge(
    context: RunContext, prepared: Prepared, candidate: Candidate, policy: BatchPolicy = quality.POLICY
) -> Comparison:
    """Smoke, then fidelity, then every golden prompt in pairs; a gate that fails ends it.

    policy: how the candidate's prompts are batched; the baseline's are batched as usual
    """
    nothing_claimed = Check("changed", None, "two directories were given: nothing is claimed")
    base = _baseline_side(context, prepared)
    with context.progress.stage("Candidate: smoke and fidelity") as stage:
        smoked, compared = cheap_gates.ask(context, prepared, base, candidate, nothing_claimed, stage)
    limits = context.spec.fidelity
    broken = (
        verdict_gates.fidelity(compared, limits.max_mean_kl, limits.min_top1)
        if compared is not None
        else Check("fidelity", None, "not measured: the smoke gate has failed")
    )
    if not smoked.passed or broken.passed is False:
        failed = [f"{c.name}: {c.detail}" for c in (*smoked.checks, broken) if c.passed is False]
        reasons = (*failed, *evidence.differences(smoked), *_weights(prepared, candidate))
        return Comparison(smoked, compared, (), Verdict.REJECT, reasons)
    asked = _evaluate_as_asked(context, prepared, prepared.baseline)
    before = asked.evaluation
    for finding in audit.after_baseline(context.store, asked.items, [before]).warned:
        context.progress.note(f"Audit: {finding.sentence}")
    after = _evaluate(context, asked.items, candidate, policy)
    judged = slices.judge(before, after, asked.items, prepared.margins, alpha=ALPHA, chance=scoring.chance)
    judged = twinning.told(judged, asked.items, prepared.margins, asked.twinned)
    written = lengths.compare(before, after, asked.items)
    combined = length_gate.decide(verdict_gates.combine(judged), length_gate.judge(written, context.spec.lengths))
    reasons = (*combined.reasons, *((f"Fidelity: {broken.detail}",) if broken.warns else ()))
    reasons += evidence.differences(smoked)
    if combined.verdict is not Verdict.SHIP:
        reasons += _weights(prepared, candidate)
    return Comparison(smoked, compared, judged, combined.verdict, reasons, before, after, written)


def _weights(prepared: Prepared, candidate: Candidate) -> tuple[str, ...]:
    """Where the weights of two plain checkpoints differ; nothing for other formats."""
    if prepared.artifact.format != candidate.main.format:
        return ()
    return weight_changes.sentences(prepared.artifact.path, candidate.main.path)


def _baseline_side(context: RunContext, prepared: Prepared) -> BaselineSide:
    """What the cheap gates compare with; kept in the record, so that further candidates do not measure it again."""
    prompts = fidelity.choose_prompts(prepared.golden.items)
    key = codec.digest([prepared.baseline.digest(), [quality.item_digest(item) for item in prompts]])

    def measure() -> BaselineSide:
        with context.progress.stage("Baseline: answers and texts"), context.starter(prepared.baseline)() as running:
            furthest = fidelity.furthest_position(running, prepared.golden.items)
            texts = fidelity.baseline_texts(
                running, prompts, fidelity.plain_texts(), furthest=furthest, seed=context.spec.seed
            )
            return BaselineSide(smoke.reference(running), texts, fidelity.noise_floor(running, texts))

    return context.store.once("baseline side", key, BaselineSide, measure, bulk=True)


def candidate_of(context: RunContext, prepared: Prepared, directory: Path, wanted: Options | None = None) -> Candidate:
    """A model directory on the engine that opens its format, the reference engine first. Raises UserError.

    wanted: options of that engine, beside its usual ones
    """
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
    return prepare.resolved("candidate", Rung.LOSSLESS, engine, {"main": made}, prepared.machine, wanted or {})


@contextmanager
def opened(spec: RunSpec, run_dir: Path | None, progress: Progress) -> Iterator[RunContext]:
    """A context with a record in `run_dir`, or in a temporary directory that goes away."""
    with record_place.opened(run_dir) as store:
        yield RunContext(spec, store.directory, (spec.cache or default_cache()).resolve(), store, progress)


def _evaluate_as_asked(context: RunContext, prepared: Prepared, candidate: Candidate) -> AsAsked:
    """All prompts as they are written; then those slices as choices of which the model writes too few right."""
    items = prepared.golden.items
    as_written = _evaluate(context, items, candidate)
    twinned = twins.decide(items, as_written, possible=twinning.possible(context, prepared))
    asked = twins.replaced(items, twinned)
    for sentence in twins.sentences(asked, twinned):
        context.progress.note(sentence)
    return AsAsked(asked, twinned, as_written, _evaluate(context, asked, candidate))


def _evaluate(
    context: RunContext, items: Sequence[GoldenItem], candidate: Candidate, policy: BatchPolicy = quality.POLICY
) -> Evaluation:
    """Nothing is started when the record has it already."""
    key = quality.evaluation_key(candidate, "all", items, policy, context.spec.scorers)
    found = context.store.find("evaluation", key, Evaluation)
    if found is not None:
        return found
    title = f"{candidate.name}: {len(items)} golden prompts on {candidate.engine}"
    with context.progress.stage(title) as stage, context.starter(candidate)() as running:
        return quality.evaluate(context, running, candidate, "all", items, stage, policy)
