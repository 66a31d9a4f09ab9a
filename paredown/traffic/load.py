"""One traffic, or one for each step of its load, from a name or a file: read, settled, made and checked.

See asked.py for what may be typed behind the name, sources.py for what may be read, settling.py for what is done with
what cannot be sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paredown import registry
from paredown.contracts import LoadShape
from paredown.errors import UnknownNameError, UserError
from paredown.records.figure import Options
from paredown.records.traffic import Traffic, TrafficRequest
from paredown.spec import named_options
from paredown.traffic import asked, prompts, settling, sources, synthetic
from paredown.traffic.asked import Reading
from paredown.traffic.rows import Draft, Row
from paredown.traffic.settling import Ledger, Room
from paredown.traffic.sources import builtin_names
from paredown.traffic.tokens import Tokens

__all__ = ["Tokens", "builtin_names", "check", "load", "read"]

# So many equal characters at the beginning are more than the block of tokens (16) that prefix caches go by.
ALIKE = 200


@dataclass(frozen=True)
class _Load:
    shape: LoadShape
    options: Options


def read(
    source: str, *, tokenizer: Tokens | None = None, load: str | None = None, seed: int = 0
) -> tuple[Traffic, ...]:
    """The traffic that `source` names, one for each step where its load has several.

    source:    NAME or FILE, perhaps with options of the reading: `trace.csv:limit=200,invalid=clip` (asked.Reading)
    tokenizer: of the model that will be measured; needed where a trace has lengths and no texts
    load:      SHAPE or `SHAPE:key=value,…` in place of the traffic's own load shape
    seed:      of prompts that are made, and of random arrivals whose load shape is given no seed
    Raises UserError (file, line, field, and what to type) and UnknownNameError.
    """
    wanted = named_options.parse(source)
    draft = sources.draft(wanted.name)
    reading = asked.reading(wanted.name, {**draft.reading, **wanted.options})
    sent = _load(draft, load, reading, seed)
    traffic = _traffic(wanted, draft, reading, sent, tokenizer, seed)
    return _steps(traffic, sent.shape)


def check(source: str, *, load: str | None = None) -> None:
    """Refuse, before a model is loaded, what can be seen without its tokenizer. Raises as `read` does."""
    wanted = named_options.parse(source)
    draft = sources.draft(wanted.name)
    _load(draft, load, asked.reading(wanted.name, {**draft.reading, **wanted.options}), seed=0)


def load(
    source: str, *, load_shape: str | None = None, options: Options | None = None, output_tokens: int | None = None
) -> Traffic:
    """A traffic whose requests have texts; the arguments replace what it says itself. See `read` for all others.

    Raises as `read` does, and for a load of several steps.
    """
    wanted = named_options.parse(source)
    draft = sources.draft(wanted.name)
    reading = asked.reading(wanted.name, {**draft.reading, **wanted.options})
    if output_tokens is not None:
        reading = replace(reading, output_tokens=output_tokens)
    own = replace(draft, load_shape=load_shape or draft.load_shape, options={**draft.options, **(options or {})})
    sent = _load(own, None, reading, seed=0)
    if sent.shape.steps is not None:
        raise UserError(
            f"The load shape {sent.shape.name} has several steps; here one load is needed. Give one of them."
        )
    return _traffic(wanted, own, reading, sent, None, seed=0)


def _load(draft: Draft, typed: str | None, reading: Reading, seed: int) -> _Load:
    """The load shape and its options, checked."""
    if typed is None:
        shape, options = registry.load_shape(draft.load_shape), dict(draft.options)
    else:
        wanted = named_options.parse(typed)
        shape = registry.load_shape(wanted.name)
        options = asked.shape_options(shape.name, shape.options, wanted.options)
    known = {option.name for option in shape.options}
    unknown = sorted(set(options) - known)
    if unknown:
        raise UnknownNameError(f"option of the load shape {shape.name}", unknown[0], known)
    if reading.time_scale is not None:
        if "time_scale" not in known:
            raise UserError(
                f"time_scale stretches the arrivals of a replay, but the load shape is {shape.name}. Leave it out, or "
                "give --load replay."
            )
        if "time_scale" in options:
            raise UserError("time_scale is given twice, for the traffic and for its load shape. Give it once.")
        options["time_scale"] = reading.time_scale
    if "seed" in known:
        options.setdefault("seed", seed)
    shape.concurrency(options)
    return _Load(shape, options)


def _traffic(
    wanted: named_options.Asked, draft: Draft, reading: Reading, sent: _Load, tokenizer: Tokens | None, seed: int
) -> Traffic:
    ledger = Ledger(wanted, reading.invalid)
    rows = settling.in_time(settling.readable(draft.found, ledger), reading, ledger)
    replayed = any(option.name == "time_scale" for option in sent.shape.options)
    if replayed and rows and all(row.at_s is not None for row in rows):
        scale = sent.options.get("time_scale", 1.0)
        assert isinstance(scale, int | float), "its load shape has checked it"
        rows = settling.without_gaps(rows, reading.longest_gap_s, scale, ledger)
    room = _room(rows, tokenizer)
    rows = settling.with_lengths(rows, reading, ledger, default_output=draft.default_output, room=room)
    rows = settling.from_the_first(prompts.texts_within(rows, tokenizer, ledger))
    requests = prompts.requests(rows, tokenizer, reading, ledger, name=draft.name, seed=seed)
    if not requests:
        why = f" ({'; '.join(ledger.notes())})" if ledger.notes() else ""
        raise UserError(f"{wanted.name} holds no request{' that was asked for' if why or wanted.options else ''}{why}.")
    if sent.shape.due is not None:
        sent.shape.due(requests, sent.options)  # refuses requests that it cannot place in time
    return Traffic(
        name=draft.name,
        summary=draft.summary,
        load_shape=sent.shape.name,
        requests=requests,
        options=sent.options,
        cache=reading.cache or ("shared" if _share_beginnings(rows) else "cold"),
        notes=ledger.notes(),
    )


def _share_beginnings(rows: Sequence[Row]) -> bool:
    """Whether the file has prompts that begin alike: by their block ids, or by their texts (a system prompt …)."""
    texts = ["\n".join(message.content for message in row.messages)[:ALIKE] for row in rows if row.messages]
    return any(row.blocks for row in rows) or len(set(texts)) < len(texts)


def _room(rows: list[Row], tokenizer: Tokens | None) -> Room:
    """What the model allows for prompts that are made; nothing is asked of the tokenizer when none is."""
    first = next((row for row in rows if not row.messages), None)
    if first is None:
        return Room(1, None)
    tokens = prompts.needed(tokenizer, first)
    return Room(synthetic.shortest(tokens), tokens.context_length)


def _steps(traffic: Traffic, shape: LoadShape) -> tuple[Traffic, ...]:
    """One traffic for each step of the load. Each gets every n-th request, so that all have the same mix."""
    if shape.steps is None:
        return (traffic,)
    steps = shape.steps(traffic.options)
    share = len(traffic.requests) // len(steps)
    if share == 0:
        raise UserError(
            f"The load shape {shape.name} has {len(steps)} steps, and {traffic.name} fewer requests "
            f"({len(traffic.requests)}). Give at least one request a step, or fewer steps."
        )
    notes = traffic.notes
    if rest := len(traffic.requests) - share * len(steps):
        notes = (*notes, settling.counted(rest, f"requests were left out so that all {len(steps)} steps have as many"))
    return tuple(
        replace(
            traffic,
            name=f"{traffic.name}, {step.label}",
            load_shape=step.load_shape,
            options=step.options,
            requests=_share(traffic.requests, number, share, len(steps)),
            notes=notes,
        )
        for number, step in enumerate(steps)
    )


def _share(requests: tuple[TrafficRequest, ...], number: int, share: int, steps: int) -> tuple[TrafficRequest, ...]:
    return requests[number : share * steps : steps]
