"""Golden items from the Berkeley Function-Calling Leaderboard as it is published, for categories of one call.

`bfcl:PATH:ANSWERS` with the file of possible answers; `bfcl:PATH` for prompts where no tool fits (ids that begin with
`irrelevance` or `live_irrelevance`). A system message lists the tools and asks for the call as JSON.

The published answers give each argument a list of right values, where "" means that it may be left out (ignored where
the tool requires it); the item's answer is the list of all calls that these make. Texts compare without case and outer
white space; the leaderboard's own checker also drops punctuation. What the scorer cannot express is refused, never left
out: several turns, several calls in one answer, and more than MOST_CALLS combinations.
Format: github.com/ShishirPatil/gorilla, berkeley-function-call-leaderboard.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paredown.contracts import Loader, RawRow
from paredown.errors import UserError
from paredown.loaders import _published
from paredown.loaders._published import Record

NO_CALL_IDS = ("irrelevance", "live_irrelevance")
NO_CALL = "none"
MAY_BE_LEFT_OUT = ""
MOST_CALLS = 256
MAX_TOKENS = 256
JSON_TYPES = {"dict": "object", "float": "number", "double": "number", "long": "integer", "tuple": "array"}
JSON_TYPES |= {"String": "string", "Boolean": "boolean", "ArrayList": "array", "Array": "array", "HashMap": "object"}
ASKED = (
    "You can call one of the tools below. When one fits, answer with a single JSON object such as "
    '{"name": "the tool", "arguments": {"its argument": "value"}} and nothing else. '
    "When none fits, say so in words and call nothing."
)


def claims(source: str) -> bool:
    return source.startswith("bfcl:")


def load(source: str) -> Iterator[RawRow]:
    """One row a line. Raises UserError naming file, line and field."""
    path, answers_path = _paths(source)
    answers = _answers(answers_path) if answers_path else {}
    for record in _published.read_json_lines(path):
        name = _published.text_of(record, "id")
        if not answers_path and not name.startswith(NO_CALL_IDS):
            expected = f"one that begins with 'irrelevance', or the possible answers as in bfcl:{path}:ANSWERS"
            _published.wrong(record, "id", expected)
        if answers_path and name not in answers:
            _published.wrong(record, "id", f"one of the ids in {answers_path}")
        fields = {
            "id": f"bfcl/{name}",
            "slice": "tool_calls",
            "scorer": "tool_call",
            "messages": _messages(record),
            "answer": _right_calls(answers[name], record) if answers_path else NO_CALL,
            "max_tokens": MAX_TOKENS,
            "tags": {"benchmark": "bfcl", "category": name.rpartition("_")[0] or name},
            "arguments": {"strings": "folded"},
        }
        yield RawRow(fields, record.where)


def _paths(source: str) -> tuple[str, str]:
    """The questions' path and that of the answers, which may be missing."""
    rest = _published.path_of(source)
    if ":" not in rest or Path(rest).exists():
        return rest, ""
    path, _, answers = rest.rpartition(":")
    if not path or not answers:
        raise UserError(f"{source!r} lacks a path. Write bfcl:PATH or bfcl:PATH:ANSWERS.")
    return path, answers


def _answers(path: str) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for record in _published.read_json_lines(path):
        name = _published.text_of(record, "id")
        if name in found:
            raise UserError(
                f"{record.where}: the id {name!r} stands already at {found[name].where}; expected one each."
            )
        found[name] = record
    return found


def _messages(record: Record) -> list[dict[str, object]]:
    turns = record.fields.get("question")
    if not isinstance(turns, list) or len(turns) != 1 or not isinstance(turns[0], list):
        _published.wrong(record, "question", "one turn, as a list of messages in a list")
    tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in _tools(record))
    system, messages = f"{ASKED}\n\n{tools}", list(turns[0])
    if messages and isinstance(messages[0], Mapping) and messages[0].get("role") == "system":
        system = f"{messages.pop(0).get('content')}\n\n{system}"
    return [{"role": "system", "content": system}, *messages]


def _tools(record: Record) -> list[dict[str, Any]]:
    """The tools with their parameters as JSON Schema; published, their types are named as in Python or Java."""
    tools = record.fields.get("function")
    if not isinstance(tools, list) or not tools:
        _published.wrong(record, "function", "a list of tools")
    for tool in tools:
        if (
            not isinstance(tool, dict)
            or not isinstance(tool.get("name"), str)
            or not isinstance(tool.get("parameters"), dict)
        ):
            _published.wrong(record, "function", "tools with 'name' and 'parameters'")
        if not isinstance(tool["parameters"].get("required", []), list):
            _published.wrong(record, "function", "'required' as a list of names")
    return [{**tool, "parameters": _schema(tool["parameters"])} for tool in tools]


def _schema(published: object) -> object:
    if not isinstance(published, dict):
        return published
    schema = dict(published)
    kind = schema.get("type")
    if kind == "any":
        del schema["type"]
    elif isinstance(kind, str):
        schema["type"] = JSON_TYPES.get(kind, kind)
    if isinstance(schema.get("properties"), dict):
        schema["properties"] = {name: _schema(part) for name, part in schema["properties"].items()}
    if "items" in schema:
        schema["items"] = _schema(schema["items"])
    return schema


def _right_calls(answer: Record, question: Record) -> list[dict[str, object]]:
    calls = answer.fields.get("ground_truth")
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict) or len(calls[0]) != 1:
        _published.wrong(answer, "ground_truth", "one call, as in [{name: {argument: [values]}}]")
    ((name, arguments),) = calls[0].items()
    tool = next((tool for tool in _tools(question) if tool["name"] == name), None)
    if tool is None:
        _published.wrong(answer, "ground_truth", f"a call of a tool that {question.where} lists")
    required = tool["parameters"].get("required", [])
    possible = {
        argument: [value for value in values if value != MAY_BE_LEFT_OUT or argument not in required]
        for argument, values in _lists(arguments, answer).items()
    }
    if _count(possible, answer) > MOST_CALLS:
        _published.wrong(answer, "ground_truth", f"at most {MOST_CALLS} combinations of right values")
    return [{"name": name, "arguments": chosen} for chosen in _objects(possible)]


def _lists(possible: object, answer: Record) -> dict[str, list[object]]:
    if not isinstance(possible, dict) or not all(isinstance(values, list) and values for values in possible.values()):
        _published.wrong(answer, "ground_truth", "for each argument a list of its right values")
    return possible


def _count(possible: object, answer: Record) -> int:
    """How many objects the possible values make, counted before they are made."""
    lists = _lists(possible, answer).values()
    return math.prod(sum(_count_value(value, answer) for value in values) for values in lists)


def _count_value(value: object, answer: Record) -> int:
    if isinstance(value, dict):
        return _count(value, answer)
    return math.prod(_count_value(part, answer) for part in value) if isinstance(value, list) else 1


def _objects(possible: Mapping[str, list[object]]) -> Iterator[dict[str, object]]:
    """Every object in which each key has one of its values, or is left out where that is right."""
    alternatives = [[choice for value in values for choice in _values(value)] for values in possible.values()]
    for chosen in itertools.product(*alternatives):
        pairs = zip(possible, chosen, strict=True)
        yield {key: value for key, value in pairs if value != MAY_BE_LEFT_OUT}


def _values(value: object) -> Iterator[object]:
    """A value itself; for an object, which holds lists of possible values, every object that these make."""
    if isinstance(value, dict):
        yield from _objects(value)
    elif isinstance(value, list):
        yield from (list(parts) for parts in itertools.product(*(list(_values(part)) for part in value)))
    else:
        yield value


LOADER = Loader(name="bfcl", summary="BFCL as published (bfcl:PATH:ANSWERS, bfcl:PATH)", claims=claims, load=load)
