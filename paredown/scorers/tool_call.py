"""The text calls the right tool with the right arguments, or calls none where none is needed.

`answer`: `{"name": …, "arguments": {…}}`, a list of such calls of which any one is right, or `none`.
`arguments.strings`: `exact` (default) or `folded` (case and outer white space of text values do not count).
A call is a JSON object with `name` and `arguments` (or `parameters`; also inside `function`; arguments may be JSON in
a string, as OpenAI writes them), anywhere in the text: bare, in a fenced block, in <tool_call> tags, in a list.
Values compare as JSON: "5" is not 5, true is not 1, 5.0 is 5; missing and further arguments are wrong. Exactly one call
must be made.

Its twin puts the right call beside those with the name of another tool, another value, another type and a missing
argument, and beside words without a call; where no call is right, words beside calls of the tools that are listed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _twin, _wrong

WORDS_WITHOUT_CALL = "None of the tools can do that, so I call none."
NO_CALL = "none"
TAG = "<tool_call>"


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, Any]


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    calls = list(_calls(answer.text))
    if item.answer.strip() == NO_CALL:
        wrong = (
            "empty" if not answer.text.strip() else "a call where none is needed" if calls or TAG in answer.text else ""
        )
        return Score(item.id, float(not wrong), wrong)
    if len(calls) != 1:
        return Score(item.id, 0.0, f"{len(calls)} calls instead of one")
    folded = item.arguments.get("strings") == "folded"
    wrongs = [_difference(calls[0], right, folded=folded) for right in _right(item.answer)]
    return Score(item.id, float("" in wrongs), "" if "" in wrongs else wrongs[0])


def _calls(text: str) -> Iterator[Call]:
    """Every call in the text, from the left; JSON that is no call is skipped as a whole."""
    decoder = json.JSONDecoder()
    place = 0
    while place < len(text):
        if text[place] not in "{[":
            place += 1
            continue
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        for part in value if isinstance(value, list) else [value]:
            if (call := _as_call(part)) is not None:
                yield call


def _as_call(value: Any) -> Call | None:
    if not isinstance(value, dict):
        return None
    inner = value["function"] if isinstance(value.get("function"), dict) else value
    arguments = inner.get("arguments", inner.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    name = inner.get("name")
    return Call(name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None


def _difference(given: Call, right: Call, *, folded: bool) -> str:
    if given.name != right.name:
        return f"calls {given.name!r} instead of {right.name!r}"
    missing, further = right.arguments.keys() - given.arguments.keys(), given.arguments.keys() - right.arguments.keys()
    if missing:
        return f"argument {min(missing)!r} is missing"
    if further:
        return f"argument {min(further)!r} was not asked for"
    other = [k for k, v in right.arguments.items() if not _same(given.arguments[k], v, folded=folded)]
    return f"argument {other[0]!r} has another value or type" if other else ""


def _same(one: Any, other: Any, *, folded: bool) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, str) and isinstance(other, str) and folded:
        return one.strip().casefold() == other.strip().casefold()
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b, folded=folded) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k], folded=folded) for k in one)
    return bool(one == other)


def _right(answer: str) -> list[Call]:
    """Raises ValueError when the answer is not written as documented."""
    value = json.loads(answer)
    calls = [_as_call(part) for part in (value if isinstance(value, list) else [value])]
    if not calls or None in calls:
        raise ValueError('not {"name": …, "arguments": {…}}')
    return [call for call in calls if call is not None]


def twin(item: GoldenItem) -> GoldenItem | None:
    """The right call, or words where none is right, among wrong ones. No twin where no tool can be told."""
    if item.answer.strip() == NO_CALL:
        calls = [
            Call(tool.name, {key: _wrong.filled(item, tool.parameters.get(key), key) for key in tool.required})
            for tool in _wrong.tools(item)
        ]
        # By whole probability: which of the two the model would sooner write. By token the call would always win, as
        # most of its tokens repeat the list of tools.
        return _twin.make(item, WORDS_WITHOUT_CALL, [_written(call) for call in calls])
    rights = _right(item.answer)
    folded = item.arguments.get("strings") == "folded"
    wrong = [call for call in _wrong_calls(item, rights[0]) if all(_difference(call, r, folded=folded) for r in rights)]
    texts = [*map(_written, wrong), WORDS_WITHOUT_CALL]
    return _twin.make(item, _written(rights[0]), texts, normalize=_twin.NORMALIZE)


def _wrong_calls(item: GoldenItem, right: Call) -> Iterator[Call]:
    """One call for each kind of mistake; the argument that is wrong is the first that can be."""
    yield Call(_wrong.name(right.name, [tool.name for tool in _wrong.tools(item)]), right.arguments)
    given = dict(right.arguments)
    for key, value in given.items():
        other = _wrong.value(item, value, key)
        if other is not None:
            yield Call(right.name, {**given, key: other})
            break
    for key, value in given.items():
        yield Call(right.name, {**given, key: _wrong.of_other_type(value)})
        break
    for key in reversed(given):
        yield Call(right.name, {other: value for other, value in given.items() if other != key})
        break


def _written(call: Call) -> str:
    return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)


def chance(item: GoldenItem) -> float | None:
    """0 for a call; unknown where no call is right, because a model that never calls anything is always right there."""
    return None if item.answer.strip() == NO_CALL else 0.0


def check(item: GoldenItem) -> None:
    if item.answer.strip() != NO_CALL:
        try:
            _right(item.answer)
        except ValueError as error:
            raise ValueError(
                f"field 'answer' is {item.answer!r} ({error}); "
                f'expected {{"name": …, "arguments": {{…}}}}, a list of these, or {NO_CALL!r}'
            ) from error
    if item.arguments.get("strings", "exact") not in ("exact", "folded"):
        raise ValueError(f"field 'arguments.strings' is {item.arguments['strings']!r}; expected 'exact' or 'folded'")


SCORER = Scorer(
    name="tool_call",
    summary="the text calls the right tool with the right arguments, or none where none is needed",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    twin=twin,
)
