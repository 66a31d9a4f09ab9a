"""From the lines of logs to the requests that become golden items; each line that does not is counted with a reason."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from paredown.curate import log_lines, personal_data, strata
from paredown.curate.log_lines import Exchange, Flaw
from paredown.errors import UserError
from paredown.records.traffic import Message
from paredown.stats import near_duplicates

SMALL_LOG = 100
MOST_COMPARED = 20_000
"""Requests that are compared with each other: about ten seconds and a gigabyte of memory."""


@dataclass(frozen=True)
class LeftOutLines:
    """Requests that gave no item for one reason; `first` is the place of the first one."""

    why: str
    count: int
    first: str


@dataclass
class Ledger:
    """Lines read, and those left out by reason."""

    lines: int = 0
    found: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, why: str, where: str) -> None:
        self.found.setdefault(why, []).append(where)

    def left_out(self) -> tuple[LeftOutLines, ...]:
        return tuple(LeftOutLines(why, len(places), places[0]) for why, places in self.found.items())

    def refuse_nothing(self, kept: Sequence[object], what: str) -> None:
        """Raises UserError that says what became of the lines when none is left."""
        if kept:
            return
        why = "; ".join(f"{one.count} × {one.why} (first: {one.first})" for one in self.left_out())
        raise UserError(
            f"No request {what}: {why or 'the files hold no line'}. Expected JSONL with an OpenAI chat request a line."
        )


@dataclass(frozen=True)
class Placed:
    """A request with its stratum and the length of its prompt in tokens."""

    exchange: Exchange
    stratum: str
    tokens: int


@dataclass(frozen=True)
class MaskedRequests:
    requests: tuple[Placed, ...]
    counts: Mapping[str, int]


def read(contents: Mapping[str, bytes], ledger: Ledger) -> list[Exchange]:
    """The usable requests of all logs, in order."""
    found = []
    for source, content in contents.items():
        for one in log_lines.read(content, source):
            ledger.lines += 1
            if isinstance(one, Flaw):
                ledger.leave_out(one.why, one.where)
            else:
                found.append(one)
    return found


def thin(exchanges: Sequence[Exchange], seed: int, ledger: Ledger, most: int = MOST_COMPARED) -> list[Exchange]:
    """At most `most` requests, drawn by seed and content, in their order."""
    if len(exchanges) <= most:
        return list(exchanges)
    ranked = sorted(range(len(exchanges)), key=lambda place: (strata.rank(exchanges[place], seed), place))
    for place in sorted(ranked[most:]):
        ledger.leave_out(f"not among the {most:,} that were drawn to be looked at", exchanges[place].where)
    return [exchanges[place] for place in sorted(ranked[:most])]


def unlike(exchanges: Sequence[Exchange], near: float, ledger: Ledger) -> list[Exchange]:
    """The first of every group of near-duplicates, compared without the system message that many requests share."""
    kept = []
    for leader, *others in near_duplicates.groups([strata.asked_text(one) for one in exchanges], near):
        kept.append(exchanges[leader])
        for place in others:
            ledger.leave_out("nearly the same as an earlier one", exchanges[place].where)
    return kept


def place(
    exchanges: Sequence[Exchange],
    count_tokens: Callable[[Sequence[Message]], int],
    context_length: int | None,
    by: Sequence[str],
    ledger: Ledger,
) -> list[Placed]:
    """Each request in its stratum, rare ones in `other`.

    What the template refuses, and what is longer than the context, is left out.
    """
    found = []
    for one in exchanges:
        try:
            tokens = count_tokens(one.messages)
        except UserError:
            ledger.leave_out("refused by the model's chat template", one.where)
            continue
        if context_length is not None and tokens >= context_length:
            ledger.leave_out(f"longer than the context of {context_length} tokens", one.where)
            continue
        found.append(Placed(one, strata.name(one, tokens, by), tokens))
    return fold_rare(found)


def fold_rare(placed: Sequence[Placed]) -> list[Placed]:
    """Strata with too few requests for a slice of their own become `other`, unless the whole log is small."""
    if len(placed) < SMALL_LOG:
        return list(placed)
    sizes = Counter(one.stratum for one in placed)
    return [
        dataclasses.replace(one, stratum=strata.OTHER) if sizes[one.stratum] < strata.LEAST else one for one in placed
    ]


def sample(placed: Sequence[Placed], count: int, seed: int) -> list[Placed]:
    """`count` requests, each stratum with its share, by stratum."""
    sizes = Counter(one.stratum for one in placed)
    shares = strata.allocate(dict(sorted(sizes.items())), count)
    found = []
    for stratum, share in shares.items():
        of_exchange = {id(one.exchange): one for one in placed if one.stratum == stratum}
        drawn = strata.draw([one.exchange for one in of_exchange.values()], share, seed)
        found += [of_exchange[id(exchange)] for exchange in drawn]
    return found


def masked(chosen: Sequence[Placed], phone_regions: Sequence[str]) -> MaskedRequests:
    """Placeholders in every turn, in the schema and in the logged answer, numbered for each request by itself."""
    counts: Counter[str] = Counter()
    found = []
    for one in chosen:
        messages = one.exchange.messages
        written = [*(message.content for message in messages), one.exchange.schema, one.exchange.answer]
        clean = personal_data.mask(written, phone_regions=phone_regions)
        counts.update(clean.counts)
        *texts, schema, answer = clean.texts
        turns = tuple(Message(message.role, text) for message, text in zip(messages, texts, strict=True))
        exchange = dataclasses.replace(one.exchange, messages=turns, schema=schema, answer=answer)
        found.append(dataclasses.replace(one, exchange=exchange))
    return MaskedRequests(tuple(found), dict(sorted(counts.items())))
