"""The audit of a run: its findings go into the record before the first candidate runs, and are read from there."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from paredown.evaluate.audit import choices, duplicates, encoding, lengths, sizes
from paredown.evaluate.audit.sizes import Reach
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records import codec
from paredown.records.audit import Audit, Finding
from paredown.records.golden import GoldenItem
from paredown.records.verdict import Margin
from paredown.stats import power, sequential, tango
from paredown.store.run_store import RunStore

KIND = "audit"
FLIP_RATE = 0.05
ALPHA = 0.05
MANY_ITEMS = 1000
EARLY_STOPS = 1.2
"""A plan that stops early is at most so much longer than a fixed one; computing a long one takes seconds."""


def before(
    store: RunStore,
    tokens: LoadedTokenizer,
    *,
    margins: Sequence[Margin],
    screening: Sequence[GoldenItem],
    judged: Sequence[GoldenItem],
) -> Audit:
    """The findings that need no answer of the model, computed once for the same prompts and kept in the record.

    judged: the items that the margins are judged on; with `screening` they are the whole set
    """
    key = codec.digest([[item.id for item in screening], list(judged), list(margins)])[:16]
    return store.once(KIND, f"before/{key}", Audit, lambda: Audit(look(tokens, margins, screening, judged)))


def recorded(store: RunStore) -> tuple[Finding, ...]:
    """What the newest look before, and the newest after the baseline was measured, have found."""
    newest = {entry.key.partition("/")[0]: entry for entry in store.entries(KIND)}
    return tuple(one for entry in newest.values() for one in codec.loads(Audit, store.body(entry)).findings)


def look(
    tokens: LoadedTokenizer, margins: Sequence[Margin], screening: Sequence[GoldenItem], judged: Sequence[GoldenItem]
) -> tuple[Finding, ...]:
    """Everything that prompts and tokenizer show by themselves."""
    gated = [margin for margin in margins if margin.gated]
    items = (*screening, *judged)
    split_of = {item.id: "screening" for item in screening} | {item.id: "confirmation" for item in judged}
    encoded = encoding.encode(items, tokens)
    return (
        *duplicates.find(items, split_of),
        *sizes.find(judged, gated, _reach(len(gated))),
        *lengths.find(encoded, tokens.context_length),
        *choices.find(items),
    )


def _reach(gates: int) -> Reach:
    @functools.cache
    def needed(margin: float) -> int | None:
        fixed = power.prompts_for_margin(margin, FLIP_RATE, gates, ALPHA)
        if fixed is None or fixed > MANY_ITEMS:
            return None if fixed is None else round(EARLY_STOPS * fixed)
        return sequential.items_for_margin(margin, FLIP_RATE, gates, ALPHA)

    return Reach(
        unchanged=lambda count: tango.limits(0, 0, count, ALPHA).high,
        visible=lambda count: power.smallest_visible_drop(count, FLIP_RATE, ALPHA),
        needed=needed,
        flip_rate=FLIP_RATE,
    )
