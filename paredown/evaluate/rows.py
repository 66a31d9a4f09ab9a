"""One row of a golden set to a checked item, with a message that names place and field for whatever is wrong.

A row is a GoldenItem as JSON, or the short form for users: {"prompt": …, "answer": …} is scored by exact match,
{"prompt": …, "choices": […], "answer": …} by likelihood, where `answer` is the text of the right choice or its number
from 0, and {"text": …} by perplexity. `slice` is `default` unless given; `system` puts a system message before the
prompt; an `id` that is not given is made from the content. Lists and objects in `answer` and in `arguments` are kept as
JSON text. Where a scorer has all that it needs in `arguments`, `answer` may be left out. {"arguments": {"raw": true}}
beside choices takes the prompt as plain text, without the model's chat template.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from paredown import registry
from paredown.contracts import RawRow, Scorer
from paredown.contracts.scorer import TWIN_SUFFIX
from paredown.errors import UnknownNameError, UserError
from paredown.records import codec
from paredown.records.figure import Scalar
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message

GENERATIVE_SCORER = "exact_match"
CHOICE_SCORER = "likelihood"
TEXT_SCORER = "perplexity"
ONLY_CHOICE = "0"
FIELDS = tuple(field.name for field in dataclasses.fields(GoldenItem))
SHORT_FIELDS = ("prompt", "system", "text")
ROLES = ("system", "user", "assistant", "tool")
SLICE_NAME = re.compile(r"[\w.-]{1,64}")
MOST_TOKENS = 8192


def parse(row: RawRow) -> GoldenItem:
    """The checked item of a row. Raises UserError with place, field, what was found and what was expected."""
    fields = dict(row.fields)
    _refuse_unknown(fields, row.where)
    choices = _choices(fields, row.where)
    scorer = _scorer(fields, choices, row.where)
    if choices and not scorer.likelihood:
        _wrong(row.where, "choices", f"is given, but the scorer {scorer.name!r} compares no choices", "no such field")
    messages, choices, answer = _content(fields, choices, scorer, row.where)
    item = GoldenItem(
        id=_text(fields, "id", row.where, default=_content_id(messages, choices, answer)),
        slice=_text(fields, "slice", row.where, default="default"),
        scorer=scorer.name,
        messages=messages,
        answer=answer,
        choices=choices,
        max_tokens=_max_tokens(fields, row.where),
        tags=_tags(fields, row.where),
        arguments=_arguments(fields, row.where),
        cluster=_text(fields, "cluster", row.where, default=""),
        zero_tolerance=_flag(fields, "zero_tolerance", row.where),
        where=row.where,
    )
    if SLICE_NAME.fullmatch(item.slice) is None:
        _wrong(row.where, "slice", f"is {item.slice!r}", "letters, digits, '.', '-' and '_' without spaces")
    if item.arguments.get("raw", False):
        _check_raw(scorer, item)
    if item.id.endswith(TWIN_SUFFIX):
        _wrong(row.where, "id", f"is {item.id!r}", f"one that does not end in {TWIN_SUFFIX!r}, as twins of items do")
    _check_by_scorer(scorer, item)
    return item


def _check_raw(scorer: Scorer, item: GoldenItem) -> None:
    """A prompt without the chat template is one text, and is only scored: generation goes through the template."""
    if item.arguments["raw"] is not True or not scorer.likelihood:
        _wrong(item.where, "arguments.raw", f"is given for {scorer.name!r}", "true, and a scorer that compares choices")
    if [message.role for message in item.messages] != ["user"] or not item.messages[0].content.strip():
        _wrong(item.where, "messages", f"has {len(item.messages)} turns", "one of the user, as arguments.raw is true")


def _scorer(fields: Mapping[str, object], choices: tuple[str, ...], where: str) -> Scorer:
    default = TEXT_SCORER if "text" in fields else CHOICE_SCORER if choices else GENERATIVE_SCORER
    try:
        return registry.scorer(_text(fields, "scorer", where, default=default))
    except UnknownNameError as error:
        raise UserError(f"{where}: field 'scorer': {error}") from error


class _Content(NamedTuple):
    """What is asked, and what is right."""

    messages: tuple[Message, ...]
    choices: tuple[str, ...]
    answer: str


def _content(fields: Mapping[str, object], choices: tuple[str, ...], scorer: Scorer, where: str) -> _Content:
    short = next((name for name in ("text", "prompt") if name in fields), "")
    if short and "messages" in fields:
        _wrong(where, short, "is given beside 'messages'", "one of the two")
    if short == "text":
        return _standing_text(fields, scorer, where)
    if short and scorer.one_text:
        if choices:
            _wrong(where, "choices", f"is given, but the scorer {scorer.name!r} scores one text", "it in 'answer'")
        if fields.get("answer") == "":
            _wrong(where, "answer", "is empty", "the reference answer")
        return _Content(_short_messages(fields, where), (_text(fields, "answer", where),), ONLY_CHOICE)
    messages = _short_messages(fields, where) if short else _messages(fields, where, may_be_empty=scorer.one_text)
    if not scorer.needs_answer and "answer" not in fields:
        return _Content(messages, choices, "")
    return _Content(messages, choices, _answer(fields, choices, where, by_text=bool(short) and scorer.likelihood))


def _standing_text(fields: Mapping[str, object], scorer: Scorer, where: str) -> _Content:
    """A text outside any conversation."""
    if not scorer.one_text:
        _wrong(where, "text", f"is given, but the scorer {scorer.name!r} judges answers", f"the scorer {TEXT_SCORER!r}")
    for other in ("prompt", "system", "choices", "answer"):
        if other in fields:
            _wrong(where, other, "is given beside 'text'", "one of the two: a text stands by itself")
    return _Content((), (_text(fields, "text", where),), ONLY_CHOICE)


def _check_by_scorer(scorer: Scorer, item: GoldenItem) -> None:
    try:
        scorer.check(item)
    except ValueError as error:
        raise UserError(f"{item.where}: {error}.") from error


def _wrong(where: str, field: str, found: str, expected: str) -> NoReturn:
    raise UserError(f"{where}: field {field!r} {found}; expected {expected}.")


def _refuse_unknown(fields: Mapping[str, object], where: str) -> None:
    known = (*FIELDS, *SHORT_FIELDS)
    for name in fields:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UserError(
                f"{where}: field {name!r} is not known; {hint}expected {', '.join(known)} (other data: 'tags')."
            )


def _text(fields: Mapping[str, object], name: str, where: str, *, default: str | None = None) -> str:
    value = fields.get(name, default)
    if value is None:
        _wrong(where, name, "is null" if name in fields else "is missing", "a text")
    return _checked(value, name, where, allow_empty=name in ("cluster", "answer"))


def _checked(value: object, name: str, where: str, *, allow_empty: bool = False) -> str:
    if not isinstance(value, str):
        _wrong(where, name, f"is {_shown(value)}", "a text")
    if not value and not allow_empty:
        _wrong(where, name, "is empty", "a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        _wrong(where, name, "holds half of a surrogate pair", "valid Unicode")
    return value


def _shown(value: object) -> str:
    written = json.dumps(value, ensure_ascii=True, default=str)
    return written if len(written) <= 60 else f"{written[:60]}…"


def _short_messages(fields: Mapping[str, object], where: str) -> tuple[Message, ...]:
    prompt = Message("user", _text(fields, "prompt", where))
    return (Message("system", _text(fields, "system", where)), prompt) if "system" in fields else (prompt,)


def _messages(fields: Mapping[str, object], where: str, *, may_be_empty: bool) -> tuple[Message, ...]:
    if "messages" not in fields:
        _wrong(where, "prompt", "is missing", "a text, or 'messages'")
    if "system" in fields:
        _wrong(where, "system", "is given beside 'messages'", "a first message with the role 'system'")
    value = fields["messages"]
    if value == [] and may_be_empty:
        return ()
    if not isinstance(value, list | tuple) or not value:
        _wrong(where, "messages", f"is {_shown(value)}", 'a list such as [{"role": "user", "content": "…"}]')
    messages = tuple(_message(part, f"messages[{index}]", where) for index, part in enumerate(value))
    if messages[-1].role not in ("user", "tool"):
        _wrong(where, f"messages[{len(messages) - 1}].role", f"is {messages[-1].role!r}", "'user', as the last turn")
    return messages


def _message(part: object, name: str, where: str) -> Message:
    if not isinstance(part, Mapping) or set(part) != {"role", "content"}:
        _wrong(where, name, f"is {_shown(part)}", "an object with 'role' and 'content'")
    role = _checked(part["role"], f"{name}.role", where)
    if role not in ROLES:
        _wrong(where, f"{name}.role", f"is {role!r}", f"one of {', '.join(ROLES)}")
    return Message(role, _checked(part["content"], f"{name}.content", where))


def _choices(fields: Mapping[str, object], where: str) -> tuple[str, ...]:
    value = fields.get("choices", ())
    if not isinstance(value, list | tuple):
        _wrong(where, "choices", f"is {_shown(value)}", "a list of texts")
    return tuple(_checked(part, f"choices[{index}]", where) for index, part in enumerate(value))


def _answer(fields: Mapping[str, object], choices: tuple[str, ...], where: str, *, by_text: bool) -> str:
    value = fields.get("answer")
    if by_text and isinstance(value, str) and value in choices:
        return str(choices.index(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    if by_text and isinstance(value, str) and not value.isdigit():
        _wrong(where, "answer", f"is {_shown(value)}", f"one of the choices, or a number from 0 to {len(choices) - 1}")
    return _text(fields, "answer", where)


def _content_id(messages: tuple[Message, ...], choices: tuple[str, ...], answer: str) -> str:
    return codec.digest([messages, choices, answer])[:16]


def _max_tokens(fields: Mapping[str, object], where: str) -> int:
    value = fields.get("max_tokens", GoldenItem.max_tokens)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_TOKENS:
        _wrong(where, "max_tokens", f"is {_shown(value)}", f"a whole number from 1 to {MOST_TOKENS}")
    return value


def _flag(fields: Mapping[str, object], name: str, where: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        _wrong(where, name, f"is {_shown(value)}", "true or false")
    return value


def _mapping(fields: Mapping[str, object], name: str, where: str) -> Mapping[str, object]:
    value = fields.get(name, {})
    if not isinstance(value, Mapping):
        _wrong(where, name, f"is {_shown(value)}", "an object")
    return value


def _tags(fields: Mapping[str, object], where: str) -> dict[str, str]:
    tags = {}
    for key, value in _mapping(fields, "tags", where).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        tags[str(key)] = str(value) if is_number else _checked(value, f"tags.{key}", where, allow_empty=True)
    return tags


def _arguments(fields: Mapping[str, object], where: str) -> dict[str, Scalar]:
    arguments: dict[str, Scalar] = {}
    for key, value in _mapping(fields, "arguments", where).items():
        if isinstance(value, list | tuple | dict):
            arguments[str(key)] = json.dumps(value, ensure_ascii=False)
        elif isinstance(value, str):
            arguments[str(key)] = _checked(value, f"arguments.{key}", where, allow_empty=True)
        elif value is None or isinstance(value, bool | int | float):
            arguments[str(key)] = value
        else:
            _wrong(where, f"arguments.{key}", f"is a {type(value).__name__}", "a text, a number, a list or an object")
    return arguments
