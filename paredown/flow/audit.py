"""The audit of a run: its findings go into the record before the first candidate runs, and are read from there."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.curate import strata
from paredown.evaluate import scoring
from paredown.evaluate.audit import (
    baseline_answers,
    calibration_form,
    choices,
    duplicates,
    encoding,
    lengths,
    likeness,
    overlap,
    sizes,
    template,
    tokens,
)
from paredown.evaluate.audit.encoding import Encoded
from paredown.evaluate.audit.likeness import Production
from paredown.evaluate.audit.sizes import Reach
from paredown.hosts import tokenizer as tokenizers
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records import codec
from paredown.records.artifact import ModelFacts
from paredown.records.audit import Audit, Finding
from paredown.records.calibration import Calibration
from paredown.records.golden import Evaluation, GoldenItem
from paredown.records.traffic import Traffic
from paredown.records.verdict import Margin
from paredown.stats import power, sequential, tango
from paredown.store.run_store import RunStore

KIND = "audit"
BEFORE, ANSWERS = "before", "answers"
FLIP_RATE = 0.05


@dataclass(frozen=True)
class Audited:
    """What is looked at before anything is measured.

    judged:    the items that the margins are judged on; with those of `screening` they are the whole set
    level:     one-sided error of the next verdict; looks: how often it may be looked at (1 = at the end only)
    """

    facts: ModelFacts
    tokens: LoadedTokenizer
    margins: tuple[Margin, ...]
    screening: tuple[GoldenItem, ...]
    judged: tuple[GoldenItem, ...]
    traffics: tuple[Traffic, ...] = ()
    calibration: Calibration | None = None
    level: float = 0.05
    looks: int = sequential.LOOKS

    @property
    def items(self) -> tuple[GoldenItem, ...]:
        return (*self.screening, *self.judged)

    @property
    def gates(self) -> tuple[Margin, ...]:
        return tuple(margin for margin in self.margins if margin.gated)


def before(store: RunStore, audited: Audited) -> Audit:
    """The findings that need no answer of the model, computed once for the same request and kept in the record."""
    asked = [audited.screening, audited.judged, audited.margins, audited.traffics, audited.level, audited.looks]
    key = codec.digest([*asked, audited.calibration.digest if audited.calibration else ""])[:16]
    return store.once(KIND, f"{BEFORE}/{key}", Audit, lambda: Audit(look(audited)))


def after_baseline(store: RunStore, items: Sequence[GoldenItem], evaluations: Sequence[Evaluation]) -> Audit:
    """What the baseline's own answers show, computed once for the same answers and kept in the record."""
    key = codec.digest([[one.answers, one.scores] for one in evaluations])[:16]
    return store.once(
        KIND, f"{ANSWERS}/{key}", Audit, lambda: Audit(baseline_answers.find(items, evaluations, scoring.chance))
    )


def recorded(store: RunStore) -> tuple[Finding, ...]:
    """What the newest look before, and the newest at the baseline's answers, have found."""
    newest = {entry.key.partition("/")[0]: entry for entry in store.entries(KIND)}
    return tuple(one for entry in newest.values() for one in codec.loads(Audit, store.body(entry)).findings)


def look(audited: Audited) -> tuple[Finding, ...]:
    """Everything that prompts, tokenizer, template and calibration data show by themselves."""
    items, judged = audited.items, frozenset(item.id for item in audited.judged)
    split_of = {item.id: "confirmation" if item.id in judged else "screening" for item in items}
    encoded = encoding.encode(items, audited.tokens)
    return (
        *_of_calibration(audited, encoded),
        *duplicates.find(items, split_of),
        *sizes.find(audited.judged, audited.gates, _reach(audited)),
        *lengths.find(encoded, audited.tokens.context_length),
        *choices.find(items),
        *tokens.find(encoded, audited.tokens.tokenizer),
        *template.find(encoded, lambda date: tokenizers.render_of(audited.facts.path, lambda: date)),
    )


def _of_calibration(audited: Audited, encoded: Sequence[Encoded]) -> tuple[Finding, ...]:
    calibration, tokenizer = audited.calibration, audited.tokens.tokenizer
    if calibration is None:
        return ()
    widest = max((linear.columns for linear in audited.facts.linears), default=audited.facts.hidden_size)
    return (
        *overlap.find(audited.items, audited.gates, calibration),
        *likeness.find(_production(audited, encoded), calibration, tokenizer, widest=widest),
        *calibration_form.find(calibration, tokenizer),
    )


def _production(audited: Audited, encoded: Sequence[Encoded]) -> Production:
    """Golden prompts and the traffic's requests: what is said in them, and how many tokens they take as sent."""
    requests = [request.messages for traffic in audited.traffics for request in traffic.requests]
    sent = [audited.tokens.encode_conversation([message.plain for message in messages]) for messages in requests]
    texts = ["\n".join(m.content for m in messages) for messages in (*(i.messages for i in audited.items), *requests)]
    return Production(tuple(texts), (*(len(one.ids) for one in encoded), *map(len, sent)), strata.language)


def _reach(audited: Audited) -> Reach:
    gates = len(audited.gates)
    return Reach(
        unchanged=lambda count: tango.limits(0, 0, count, audited.level).high,
        visible=lambda count: power.smallest_visible_drop(count, FLIP_RATE, audited.level),
        needed=lambda margin: items_needed(margin, gates, audited.level, audited.looks),
        flip_rate=FLIP_RATE,
    )


@functools.cache
def items_needed(margin: float, gates: int, level: float, looks: int) -> int | None:
    """Items by which an unharmed candidate passes all gates with 80 % probability; None = more than can be asked."""
    return sequential.items_for_margin(margin, FLIP_RATE, gates, level, looks=looks)
