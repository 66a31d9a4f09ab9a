"""The text is JSON that fits a schema and, where given, holds the right values.

`arguments.schema`: a JSON schema as JSON text; of its keywords those in KEYWORDS are checked and any other is refused,
so that nothing asked for goes unchecked. `answer`: left out, or a JSON value; the keys of an object must then hold
these values (further keys are the schema's affair), anything else must be equal.
`arguments.strict`: true when the whole text must be JSON; else a fenced block or the first JSON value in it will do.

It has a twin where `answer` is given: that value beside one with another value, another type and a missing key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _twin, _wrong

KEYWORDS = {
    *("type", "required", "properties", "additionalProperties", "items", "enum", "const"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("title", "description", "$schema"),
}
TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    try:
        value = _find(answer.text, strict=bool(item.arguments.get("strict", False)))
    except (ValueError, RecursionError):
        return Score(item.id, 0.0, "no valid JSON in the text")
    wrong = _mismatch(value, json.loads(str(item.arguments.get("schema", "{}"))), "$")
    if not wrong and item.answer:
        wrong = "" if _holds(value, json.loads(item.answer)) else "valid JSON with other values than expected"
    return Score(item.id, float(not wrong), wrong)


def _find(text: str, *, strict: bool) -> Any:
    if strict:
        return _parse(text.strip())
    fenced = FENCE.search(text)
    body = fenced.group(1) if fenced else text
    try:
        return _parse(body.strip())
    except ValueError:
        start = min(place for place in (body.find("{"), body.find("["), len(body)) if place >= 0)
        return json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique).raw_decode(body[start:])[0]


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return dict(pairs)


def _mismatch(value: Any, schema: Mapping[str, Any], where: str) -> str:
    """The first way in which `value` does not fit `schema`, or nothing."""
    types = schema.get("type", [])
    allowed = [types] if isinstance(types, str) else types
    if allowed and not any(_is_type(value, name) for name in allowed):
        return f"{where} is not of type {' or '.join(allowed)}"
    if "enum" in schema and not any(_same(value, option) for option in schema["enum"]):
        return f"{where} is not one of the listed values"
    if "const" in schema and not _same(value, schema["const"]):
        return f"{where} is not the value asked for"
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        outside = value < schema.get("minimum", value) or value > schema.get("maximum", value)
        return f"{where} is outside its limits" if outside else ""
    noun = "Length" if isinstance(value, str) else "Items"
    if isinstance(value, str | list) and not schema.get(f"min{noun}", 0) <= len(value) <= schema.get(
        f"max{noun}", len(value)
    ):
        return f"{where} is too short or too long"
    if isinstance(value, list) and "items" in schema:
        return next(filter(None, (_mismatch(v, schema["items"], f"{where}[{i}]") for i, v in enumerate(value))), "")
    return _object_mismatch(value, schema, where) if isinstance(value, dict) else ""


def _object_mismatch(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> str:
    missing = [key for key in schema.get("required", []) if key not in value]
    if missing:
        return f"{where} has no key {missing[0]!r}"
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for key, inner in value.items():
        if key not in properties and others is False:
            return f"{where} has a key {key!r} that the schema does not allow"
        part = properties.get(key, others if isinstance(others, dict) else {})
        if wrong := _mismatch(inner, part, f"{where}.{key}"):
            return wrong
    return ""


def _is_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


def _same(one: Any, other: Any) -> bool:
    """Equality as in JSON: true is not 1, but 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(key in value and _holds(value[key], inner) for key, inner in wanted.items())
    return _same(value, wanted)


def twin(item: GoldenItem) -> GoldenItem | None:
    """None where only a form is asked for."""
    if not item.answer:
        return None
    right = json.loads(item.answer)
    texts = [json.dumps(value, ensure_ascii=False) for value in (right, *_wrong_values(item, right))]
    return _twin.make(item, texts[0], texts[1:], normalize=_twin.NORMALIZE)


def _wrong_values(item: GoldenItem, right: Any) -> Iterator[Any]:
    if not isinstance(right, dict):
        yield from (_wrong.value(item, right, "$"), _wrong.of_other_type(right))
        return
    for key, value in right.items():
        if (other := _wrong.value(item, value, key)) is not None:
            yield {**right, key: other}
    for key, value in list(right.items())[:1]:
        yield {**right, key: _wrong.of_other_type(value)}
        yield {other: inner for other, inner in right.items() if other != key}


def chance(_: GoldenItem) -> float | None:
    """0: a text drawn at random is not JSON."""
    return 0.0


def check(item: GoldenItem) -> None:
    if "schema" not in item.arguments and not item.answer:
        raise ValueError("neither 'arguments.schema' nor 'answer' is given; expected a JSON schema or the right value")
    try:
        schema = json.loads(str(item.arguments.get("schema", "{}")))
    except ValueError as error:
        raise ValueError(f"field 'arguments.schema' is not JSON ({error}); expected a JSON schema") from error
    _check_schema(schema, "arguments.schema")
    if item.answer:
        try:
            _parse(item.answer)
        except ValueError as error:
            raise ValueError(f"field 'answer' is not JSON ({error}); expected a JSON value or nothing") from error


def _check_schema(schema: Any, where: str) -> None:
    if not isinstance(schema, dict):
        raise ValueError(f"field '{where}' is {schema!r}; expected a JSON object")  # noqa: TRY004 check() raises ValueError
    unknown = sorted(set(schema) - KEYWORDS)
    if unknown:
        raise ValueError(f"field '{where}' has the keyword {unknown[0]!r}; expected only {', '.join(sorted(KEYWORDS))}")
    types = schema.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        if name not in TYPES:
            raise ValueError(f"field '{where}.type' is {name!r}; expected one of {', '.join(TYPES)}")
    for key, inner in schema.get("properties", {}).items():
        _check_schema(inner, f"{where}.properties.{key}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword, True), bool):
            continue
        _check_schema(schema[keyword], f"{where}.{keyword}")


SCORER = Scorer(
    name="json_output",
    summary="the text is JSON that fits a schema and holds the right values",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    twin=twin,
    needs_answer=False,
)
