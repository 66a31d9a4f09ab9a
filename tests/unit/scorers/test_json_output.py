"""JSON in the text is found and checked."""

from __future__ import annotations

import json

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message
from paredown.scorers.json_output import SCORER

PERSON = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
        "kind": {"const": "person"},
    },
    "additionalProperties": False,
}


def value(text: str, schema: object = None, answer: str = "", **arguments: bool) -> float | None:
    given = {**arguments, **({"schema": json.dumps(schema)} if schema is not None else {})}
    item = GoldenItem("i", "s", "json_output", (Message("user", "?"),), answer, arguments=given)
    SCORER.check(item)
    return SCORER.score(item, Answer("i", text)).value


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ada", "age": 36}',
        'Sure:\n```json\n{"name": "Ada", "age": 36, "tags": ["a", "b"]}\n```\nDone.',
        'Here it is: {"name": "Ada", "age": 36.0, "kind": "person"} and more',
    ],
)
def test_json_that_fits_is_found_in_the_text(text: str) -> None:
    assert value(text, PERSON) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        '{"name": "Ada", "age": 36',
        '{"name": "Ada"}',
        '{"name": "Ada", "age": "36"}',
        '{"name": "Ada", "age": 36.5}',
        '{"name": "Ada", "age": true}',
        '{"name": "", "age": 1}',
        '{"name": "Ada", "age": -1}',
        '{"name": "Ada", "age": 1, "tags": ["c"]}',
        '{"name": "Ada", "age": 1, "tags": ["a", "a", "a"]}',
        '{"name": "Ada", "age": 1, "kind": "robot"}',
        '{"name": "Ada", "age": 1, "more": 1}',
        '{"name": "Ada", "age": NaN}',
        '{"name": "Ada", "age": 1, "age": 2}',
        '["name", "age"]',
    ],
)
def test_json_that_does_not_fit_is_wrong(text: str) -> None:
    assert value(text, PERSON) == 0.0


def test_nan_is_not_json_even_where_a_number_is_wanted() -> None:
    assert value('{"a": NaN}', {"properties": {"a": {"type": "number"}}}) == 0.0
    assert value('{"a": Infinity}', {"type": "object"}, strict=True) == 0.0


def test_strict_wants_nothing_but_json() -> None:
    assert value(' {"a": 1}\n', {"type": "object"}, strict=True) == 1.0
    assert value('```json\n{"a": 1}\n```', {"type": "object"}, strict=True) == 0.0


def test_values_of_the_answer_must_be_held_and_further_keys_may_be() -> None:
    assert value('{"a": 1.0, "b": {"c": [1, 2], "d": 0}}', answer='{"a": 1, "b": {"c": [1, 2]}}') == 1.0
    assert value('{"a": 2}', answer='{"a": 1}') == 0.0
    assert value('{"a": true}', answer='{"a": 1}') == 0.0


def test_deep_nesting_is_wrong_and_no_crash() -> None:
    assert value("[" * 100_000, {"type": "array"}) == 0.0


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "text"}, "expected one of object"),
        ({"pattern": "^a"}, "keyword 'pattern'"),
        ({"properties": {"a": {"oneOf": []}}}, "arguments.schema.properties.a"),
        ({"items": {"format": "date"}}, "arguments.schema.items"),
        ([], "expected a JSON object"),
    ],
)
def test_a_schema_that_would_go_unchecked_is_refused(schema: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        value("{}", schema)


def test_an_item_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="neither"):
        value("{}")
