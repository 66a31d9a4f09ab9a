"""Checks of what users write into YAML and JSON: each says file, field and what was found instead."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paredown.errors import UnknownNameError, UserError
from paredown.records.traffic import Message


def mapping(plain: object, where: str, known: Sequence[str] | None = None) -> Mapping[str, Any]:
    """The mapping, with no key beside those that are known."""
    if not isinstance(plain, dict):
        raise UserError(f"{where} is no mapping but {shown(plain)}.")
    unknown = [name for name in plain if known is not None and name not in known]
    if unknown:
        raise UnknownNameError(f"field in {where}:", str(unknown[0]), known or ())
    return plain


def sequence(plain: object, where: str) -> list[object]:
    if not isinstance(plain, list) or not plain:
        raise UserError(f"{where} is no list with at least one entry but {shown(plain)}.")
    return plain


def texts(plain: object, where: str) -> tuple[str, ...]:
    return tuple(text(entry, where) for entry in sequence(plain, where))


def text(plain: object, where: str) -> str:
    if not isinstance(plain, str) or not plain.strip():
        raise UserError(f"{where} is no text but {shown(plain)}.")
    return plain


def count(plain: object, where: str, least: int = 1) -> int:
    if not isinstance(plain, int) or isinstance(plain, bool) or plain < least:
        raise UserError(f"{where} is no whole number from {least} on but {shown(plain)}.")
    return plain


def whole(plain: object, where: str) -> int:
    """A whole number, negative ones too, written as one or as text."""
    try:
        number = float(plain) if isinstance(plain, str | int | float) and not isinstance(plain, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number % 1:
        raise UserError(f"{where} is no whole number but {shown(plain)}.")
    return int(number)


def messages(plain: object, where: str) -> tuple[Message, ...]:
    """A conversation as OpenAI's requests have it; text parts are joined, anything else is refused."""
    found = []
    for index, turn in enumerate(sequence(plain, where)):
        place = f"{where}[{index}]"
        message = mapping(turn, place)
        role = text(message.get("role"), f"{place}.role")
        found.append(Message(role, text(_content(message.get("content")), f"{place}.content")))
    return tuple(found)


def _content(plain: Any) -> Any:
    if isinstance(plain, list) and all(isinstance(p, dict) and isinstance(p.get("text"), str) for p in plain):
        return "".join(part["text"] for part in plain)
    return plain


def json_lines(content: str, source: str) -> Iterator[tuple[str, object]]:
    """(`file:line`, what the line holds); a line that is no JSON comes as its ValueError."""
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield f"{source}:{number}", json.loads(line)
        except ValueError as error:
            yield f"{source}:{number}", error


def shown(plain: object) -> str:
    return "missing" if plain is None else repr(plain)[:60]
