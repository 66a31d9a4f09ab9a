"""Likelihood twins in a run: decided once from the baseline, kept in the record, told wherever they count."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from paredown import registry
from paredown.contracts import ScoringLevel
from paredown.decide.pairs import members
from paredown.evaluate import twins
from paredown.evaluate.twins import Twinned
from paredown.flow.context import Prepared, RunContext
from paredown.records import codec
from paredown.records.golden import Evaluation, GoldenItem
from paredown.records.verdict import Margin, SliceVerdict
from paredown.store.run_store import RunStore

KIND = "twins"


def apply(prepared: Prepared, twinned: Twinned) -> Prepared:
    """The run's prompts with twins in their places; the golden set stays as the user gave it."""
    return dataclasses.replace(
        prepared,
        screening=twins.replaced(prepared.screening, twinned),
        confirmation=twins.replaced(prepared.confirmation, twinned),
        twinned=twinned,
    )


def from_record(store: RunStore, prepared: Prepared) -> Prepared | None:
    """As `apply`, by what the record says on this golden set; None when nothing was decided yet."""
    found = store.find(KIND, prepared.golden.digest, Twinned)
    return None if found is None else apply(prepared, found)


def possible(context: RunContext, prepared: Prepared) -> bool:
    """Whether twins are wanted, and the baseline's engine gives the log-probabilities that they take."""
    return context.spec.twins and registry.engine(prepared.baseline.engine).scoring >= ScoringLevel.TARGET_ONLY


def decide(context: RunContext, prepared: Prepared, screening: Evaluation) -> Prepared:
    """Decide by the baseline's answers to the prompts that choose, as they are written, and announce it."""
    store = context.store
    entries = list(store.entries(KIND))
    before = codec.loads(Twinned, store.body(entries[-1])) if entries else Twinned()
    found = twins.decide(
        prepared.screening, screening, prepared.confirmation, before, possible=possible(context, prepared)
    )
    store.put(KIND, prepared.golden.digest, found, bulk=True)
    made = apply(prepared, found)
    for sentence in twins.sentences((*made.screening, *made.confirmation), found):
        context.progress.note(sentence)
    return made


def told(
    judged: Sequence[SliceVerdict], items: Sequence[GoldenItem], margins: Sequence[Margin], twinned: Twinned
) -> tuple[SliceVerdict, ...]:
    """Verdicts whose reasons also say how many of their prompts were asked as choices, and why."""
    by_slice = {margin.slice: members(margin, items) for margin in margins}
    return tuple(
        dataclasses.replace(one, reason=" ".join((one.reason, *twins.sentences(by_slice.get(one.slice, ()), twinned))))
        for one in judged
    )
