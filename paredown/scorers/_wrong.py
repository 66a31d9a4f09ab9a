"""Answers that are wrong but look right, made from the right one and the conversation. Shared by scorers, none itself.

Each function gives what it can, in the same order every time, and nothing where it can make nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from paredown.records.golden import GoldenItem

WORD = re.compile(r"[^\W_]{3,}(?:[-'’][^\W_]+)*")
NAME_PART = re.compile(r"[^._\-\s]+")
LONGEST_NUMBER = 40
Element = TypeVar("Element")


@dataclass(frozen=True)
class Tool:
    """A tool that the conversation lists as JSON, with the schemas of its parameters by name."""

    name: str
    parameters: Mapping[str, Any]
    required: tuple[str, ...]


def asked(item: GoldenItem) -> str:
    """The last thing that the user said."""
    return next((message.content for message in reversed(item.messages) if message.role == "user"), "")


def words(item: GoldenItem, right: Sequence[str]) -> list[str]:
    """Words of what was asked that stand in no right answer: those with a capital first, else by a hash of the item."""
    known = " ".join(right).casefold()
    found = [word for word in dict.fromkeys(WORD.findall(asked(item))) if word.casefold() not in known]
    inside = found[1:] if len(found) > 1 else found  # the first word of a sentence has its capital by its place

    def order(word: str) -> tuple[bool, str]:
        is_name = word in inside and word[0].isupper()
        return not is_name, hashlib.sha256(f"{item.id}\n{word}".encode()).hexdigest()

    return sorted(found, key=order)


def numbers(right: Decimal, tolerance: Decimal = Decimal(0)) -> Iterator[Decimal]:
    """Near numbers: one and ten steps of the last digit away, and with the first two digits exchanged."""
    exponent = right.as_tuple().exponent
    step = max(Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0), tolerance * 2)
    digits = str(abs(right))
    exchanged = Decimal(digits[1] + digits[0] + digits[2:]) if digits[:2].isdigit() and len(digits) > 1 else None
    sign = -1 if right < 0 else 1
    for other in (right + step, right - step, None if exchanged is None else sign * exchanged, right + 10 * step):
        if other is not None and abs(other - right) > tolerance and (right < 0 or other >= 0):
            yield other


def value(item: GoldenItem, right: Any, place: str) -> Any:
    """Another value of the same JSON type, or None. `place` names it, so that two values get two others."""
    if isinstance(right, bool):
        return not right
    if isinstance(right, int) and len(str(right)) <= LONGEST_NUMBER:
        return int(_pick(f"{item.id}/{place}", list(numbers(Decimal(right)))))
    if isinstance(right, float) and math.isfinite(right):
        return float(_pick(f"{item.id}/{place}", list(numbers(Decimal(repr(right))))))
    if isinstance(right, str):
        return _text_value(item, right, place)
    if isinstance(right, list) and right:
        other = value(item, right[-1], place)
        return [*right[:-1], other] if other is not None else None
    if isinstance(right, dict) and right:
        key = min(right)
        other = value(item, right[key], place)
        return {**right, key: other} if other is not None else None
    return None


def of_other_type(right: Any) -> Any:
    """The same value written as another JSON type."""
    if isinstance(right, str):
        return [right]
    if isinstance(right, list):
        return ", ".join(str(part) for part in right)
    return json.dumps(right, ensure_ascii=False)


def tools(item: GoldenItem) -> list[Tool]:
    """Tools that the conversation lists as JSON objects with `name` and `parameters` (a JSON schema)."""
    decoder, found = json.JSONDecoder(), []
    for message in item.messages:
        place = message.content.find("{")
        while place >= 0:
            try:
                listed, end = decoder.raw_decode(message.content, place)
            except (ValueError, RecursionError):
                listed, end = None, place + 1
            if (tool := _as_tool(listed)) is not None:
                found.append(tool)
            place = message.content.find("{", end)
    return found


def _as_tool(listed: Any) -> Tool | None:
    inner = listed.get("function", listed) if isinstance(listed, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        return None
    schema = inner.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        return None
    required = schema.get("required")
    return Tool(inner["name"], properties, tuple(required) if isinstance(required, list) else tuple(properties))


def name(right: str, listed: Sequence[str]) -> str:
    """Another tool that is listed, else the parts of this one's name in another order, or with another end."""
    others = [other for other in listed if other != right]
    if others:
        return _pick(right, others)
    parts = NAME_PART.findall(right)
    turned = NAME_PART.sub(lambda _: parts.pop(), right)
    return turned if turned != right else f"{right}_all"


def filled(item: GoldenItem, schema: Any, place: str) -> Any:
    """A value that fits a parameter: one of its `enum`, or the simplest of its type."""
    if isinstance(schema, dict):
        options, kind = schema.get("enum"), schema.get("type")
        if isinstance(options, list) and options:
            return _pick(f"{item.id}/{place}", options)
        plain: Mapping[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
        if isinstance(kind, str) and kind in plain:
            return plain[kind]
    return _pick(f"{item.id}/{place}", words(item, []) or ["value"])


def _text_value(item: GoldenItem, right: str, place: str) -> str:
    for tool in tools(item):
        schema = tool.parameters.get(place)
        options = schema.get("enum") if isinstance(schema, dict) else None
        if isinstance(options, list):
            others = [option for option in options if isinstance(option, str) and option != right]
            if right in options and others:
                return _pick(f"{item.id}/{place}", others)
    found = words(item, [right])
    return found[0] if found else f"not {right}"


def _pick(key: str, options: Sequence[Element]) -> Element:
    return options[int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % len(options)]
