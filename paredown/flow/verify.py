"""Recompute every figure and the verdict of a run from its raw record, offline, and compare with what was decided."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.errors import RecordError
from paredown.evaluate import scoring, twins
from paredown.evaluate.fidelity import summary
from paredown.flow import asked, conclude, explain
from paredown.flow.conclude import Conclusion
from paredown.flow.context import Prepared
from paredown.records import codec
from paredown.records.explanation import Explanation
from paredown.records.golden import Evaluation, Fidelity, GoldenItem
from paredown.records.verdict import CandidateVerdict, Decision
from paredown.store.run_store import RunStore

RELATIVE_TOLERANCE = 1e-9
"""Between the floating point of two machines; anything more is a difference."""


@dataclass(frozen=True)
class Verified:
    """What was checked, and the digest that stands for all of it."""

    entries: int
    figures: int
    candidates: int
    decision: Decision
    root_digest: str


def verify(directory: Path, digest: str | None = None) -> Verified:
    """Check a run. Raises RecordError for the first thing that was changed, is missing, or comes out differently.

    digest: the root digest that was published with the decision (any later entry changes it)
    """
    with RunStore(directory, read_only=True) as store:
        count = store.check()
        if digest is not None:
            _check_published(store, digest)
        prepared, spec = asked.reload(store), asked.spec_of(store)
        _check_scores(store, twins.with_twins(prepared.golden.items, prepared.twinned))
        _check_fidelity(store)
        found = conclude.conclude(store, prepared, spec)
        for verdict in found.verdicts:
            _compare(store.get("verdict", verdict.candidate, CandidateVerdict), verdict, f"verdict {verdict.candidate}")
        _compare(store.get("decision", "final", Decision), found.decision, "decision")
        _check_explanations(store, prepared, found)
        figures = sum(len(verdict.figures) for verdict in found.verdicts) + len(found.baseline_figures)
        return Verified(count, figures, len(found.verdicts), found.decision, store.root_digest())


def _check_published(store: RunStore, digest: str) -> None:
    if not any(entry.chain == digest for entry in store.entries()):
        raise RecordError(
            f"The record in {store.directory} never had the digest {digest}: this is not the run that was published."
        )


def _check_scores(store: RunStore, items: tuple[GoldenItem, ...]) -> None:
    """Score every stored answer again, but for scorers that ask a server or run code."""
    by_id = {item.id: item for item in items}
    for entry in store.entries("evaluation"):
        stored = codec.loads(Evaluation, store.body(entry))
        asked_items = [by_id[answer.item] for answer in stored.answers if answer.item in by_id]
        if len(asked_items) == len(stored.answers):
            again = scoring.score_again(asked_items, stored.answers, stored.scores)
            _compare(stored.scores, again, f"scores {entry.key}")


def _check_fidelity(store: RunStore) -> None:
    """Every mean, tail and part again from the values at each position."""
    for entry in store.entries("fidelity"):
        stored = codec.loads(Fidelity, store.body(entry))
        _compare(stored, summary.again(stored), f"fidelity {entry.key}")


def _check_explanations(store: RunStore, prepared: Prepared, found: Conclusion) -> None:
    """Everything that explains a verdict but the texts, which need the model's tokenizer."""
    lengths = explain.prompt_tokens(store, prepared)
    for one in found.evidence:
        name = one.planned.name
        stored = store.find("explanation", name, Explanation)
        if stored is not None:
            again = explain.explain(prepared, found.baseline, one, lengths, None)
            _compare(explain.figures_of(stored), explain.figures_of(again), f"explanation {name}")


def _compare(stored: object, computed: object, what: str) -> None:
    for path, before, after in differences(codec.to_plain(stored), codec.to_plain(computed)):
        raise RecordError(f"{what}: {path or 'the whole'} was recorded as {before!r} and comes out as {after!r}.")


def differences(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two plain values differ by more than rounding."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            yield from differences(before.get(name), after.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif isinstance(before, float) and isinstance(after, float):
        if not math.isclose(before, after, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12):
            yield path, before, after
    elif before != after:
        yield path, before, after
