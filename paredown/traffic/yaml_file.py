"""A traffic in YAML: `summary`, `load_shape`, `options` (of the load shape), `output_tokens`, and one of

`requests` (texts, or mappings with `prompt` or `messages` and perhaps `output_tokens`), `compose` (see compose.py), or
`trace` (a trace or log beside the YAML file). Options of the reading (`limit`, `invalid` …) may stand beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from paredown.errors import UserError
from paredown.records.figure import Options
from paredown.records.traffic import Message
from paredown.traffic.asked import OPTIONS
from paredown.traffic.compose import Composition, prompts
from paredown.traffic.fields import count, mapping, messages, sequence, text, texts
from paredown.traffic.rows import DEFAULT_OUTPUT_TOKENS, Draft, FieldNames, Row

_SOURCES = ("requests", "compose", "trace")
_FIELDS = ("name", "summary", "load_shape", "options", "output_tokens", *_SOURCES, *OPTIONS)
_REQUEST_FIELDS = ("id", "prompt", "messages", "output_tokens", "at_s")
_COMPOSE_FIELDS = ("seed", "count", "words", "most_words", "openings", "sentences", "questions", "words_for")
_NAMES = FieldNames("at_s", "prompt", "output_tokens")


def trace_of(content: str, source: str) -> str:
    """The trace or log that it names, empty when it has requests of its own."""
    return str(_fields(content, source).get("trace", ""))


def draft(content: str, source: str, trace: Draft | None = None) -> Draft:
    """What the file says. `trace`: what the file that it names holds. Raises UserError (file, field)."""
    fields = _fields(content, source)
    name = text(fields.get("name", Path(source).stem), f"{source}: name")
    reading = {key: fields[key] for key in OPTIONS if key in fields}
    shape = fields.get("load_shape", trace.load_shape if trace is not None else "single_stream")
    summary = fields.get("summary", trace.summary if trace is not None else f"requests of {source}")
    default = DEFAULT_OUTPUT_TOKENS
    if trace is None:
        # For requests it is the length of an answer that has none of its own, not the length of all.
        default = count(reading.pop("output_tokens", default), f"{source}: output_tokens")
    return Draft(
        name=name,
        summary=text(summary, f"{source}: summary"),
        found=trace.found if trace is not None else tuple(_rows(fields, source, name, default)),
        load_shape=text(shape, f"{source}: load_shape"),
        options=cast("Options", mapping(fields.get("options", {}), f"{source}: options")),
        reading=reading,
        default_output=default,
    )


def _fields(content: str, source: str) -> Mapping[str, Any]:
    import yaml

    try:
        plain = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise UserError(f"{source} is not YAML: {' '.join(str(error).split())}.") from error
    fields = mapping(plain, source, _FIELDS)
    if sum(name in fields for name in _SOURCES) != 1:
        raise UserError(f"{source} needs either `requests` or `compose` or `trace`.")
    if "trace" in fields:
        text(fields["trace"], f"{source}: trace")
    return fields


def _rows(fields: Mapping[str, Any], source: str, name: str, default: int) -> Iterator[Row]:
    if "compose" in fields:
        plain: list[object] = list(_composed(fields["compose"], f"{source}: compose"))
    else:
        plain = sequence(fields["requests"], f"{source}: requests")
    for index, entry in enumerate(plain):
        yield _row(entry, f"{source}: requests[{index}]", f"{name}-{index}", default)


def _row(plain: object, where: str, identifier: str, default: int) -> Row:
    if isinstance(plain, str):
        return Row(where, messages=(Message("user", text(plain, where)),), output_tokens=default, id=identifier)
    fields = mapping(plain, where, _REQUEST_FIELDS)
    if ("prompt" in fields) == ("messages" in fields):
        raise UserError(f"{where} needs either `prompt` or `messages`.")
    if "prompt" in fields:
        turns: tuple[Message, ...] = (Message("user", text(fields["prompt"], f"{where}, prompt")),)
    else:
        turns = messages(fields["messages"], f"{where}, messages")
    at_s = fields.get("at_s")
    if at_s is not None and (isinstance(at_s, bool) or not isinstance(at_s, int | float)):
        raise UserError(f"{where}, at_s is no number of seconds but {at_s!r}.")
    return Row(
        where,
        at_s=at_s,
        output_tokens=count(fields.get("output_tokens", default), f"{where}, output_tokens"),
        messages=turns,
        id=str(fields.get("id", identifier)),
        names=_NAMES,
    )


def _composed(plain: object, where: str) -> tuple[str, ...]:
    fields = mapping(plain, where, _COMPOSE_FIELDS)
    missing = [name for name in _COMPOSE_FIELDS if name not in fields and name != "most_words"]
    if missing:
        raise UserError(f"{where} needs {', '.join(missing)}.")
    words = mapping(fields["words_for"], f"{where}: words_for")
    composition = Composition(
        seed=count(fields["seed"], f"{where}: seed", least=0),
        count=count(fields["count"], f"{where}: count"),
        words=count(fields["words"], f"{where}: words"),
        most_words=count(fields.get("most_words", 0), f"{where}: most_words", least=0),
        openings=texts(fields["openings"], f"{where}: openings"),
        sentences=texts(fields["sentences"], f"{where}: sentences"),
        questions=texts(fields["questions"], f"{where}: questions"),
        words_for={name: texts(values, f"{where}: words_for.{name}") for name, values in words.items()},
    )
    for name in composition.names_without_words():
        raise UserError(f"{where}: words_for has nothing for {{{name}}}.")
    try:
        return prompts(composition)
    except ValueError as error:
        raise UserError(f"{where}: {error}.") from error
