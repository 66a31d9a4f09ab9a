"""Wrong answers that look right, made from the item alone: what stands in the twins of each scorer."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal

import pytest

from paredown import registry
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.scorers import _twin, _wrong

TOOLS = "\n".join(
    json.dumps({"name": name, "parameters": {"type": "object", "properties": properties, "required": list(properties)}})
    for name, properties in (
        ("weather.today", {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}}),
        ("alarm", {"hour": {"type": "integer"}}),
    )
)
ASKED = "Is it warm in Oslo, in degrees Celsius, not in Rome?"
RIGHT = {"name": "weather.today", "arguments": {"city": "Oslo", "unit": "C"}}


def item(scorer: str, answer: str, asked: str = ASKED, **arguments: str) -> GoldenItem:
    return GoldenItem("i", "s", scorer, (Message("system", TOOLS), Message("user", asked)), answer, arguments=arguments)


def choices(given: GoldenItem) -> tuple[str, ...]:
    twin = registry.scorer(given.scorer).twin(given)
    assert twin is not None
    return twin.choices


def right(given: GoldenItem) -> str:
    twin = registry.scorer(given.scorer).twin(given)
    assert twin is not None
    return twin.choices[int(twin.answer)]


def test_a_call_stands_beside_one_of_each_mistake() -> None:
    given = item("tool_call", json.dumps(RIGHT))
    found = [json.loads(choice) for choice in choices(given) if choice.startswith("{")]
    assert json.loads(right(given)) == RIGHT
    assert {call["name"] for call in found} == {"weather.today", "alarm"}
    arguments = [call["arguments"] for call in found if call["name"] == "weather.today"]
    assert {"city": ["Oslo"], "unit": "C"} in arguments
    assert {"city": "Oslo"} in arguments
    assert sum(isinstance(one["city"], str) and one["city"] != "Oslo" for one in arguments) == 1
    assert sum(not choice.startswith("{") for choice in choices(given)) == 1
    assert len(choices(given)) == 6


def test_a_call_that_is_also_right_is_no_wrong_choice() -> None:
    both = [RIGHT, {"name": "weather.today", "arguments": {"city": "Oslo"}}]
    assert len(choices(item("tool_call", json.dumps(both)))) == 5


def test_words_stand_beside_calls_of_the_listed_tools_where_none_is_right() -> None:
    given = item("tool_call", "none", asked="Sing a song.")
    calls = [json.loads(choice) for choice in choices(given) if choice.startswith("{")]
    assert [call["name"] for call in sorted(calls, key=lambda call: call["name"])] == ["alarm", "weather.today"]
    assert next(call for call in calls if call["name"] == "alarm")["arguments"] == {"hour": 1}
    assert next(call for call in calls if call["name"] != "alarm")["arguments"]["unit"] in ("C", "F")
    assert not right(given).startswith("{")
    twin = registry.scorer("tool_call").twin(given)
    assert twin is not None
    assert twin.arguments == {}
    bare = dataclasses.replace(given, messages=given.messages[1:])
    assert registry.scorer("tool_call").twin(bare) is None


def test_a_number_stands_beside_near_ones_in_its_own_notation() -> None:
    assert set(choices(item("number", "27"))) == {f"The answer is {n}." for n in (27, 28, 26, 72, 37)}
    assert set(choices(item("number", "1,5", decimal=","))) == {
        f"The answer is {n}." for n in ("1,5", "1,6", "1,4", "2,5")
    }


def test_near_numbers_lie_beyond_the_tolerance_and_keep_the_sign() -> None:
    assert list(_wrong.numbers(Decimal(0))) == [1, 10]
    assert list(_wrong.numbers(Decimal(-12))) == [-11, -13, -21, -2]
    near = list(_wrong.numbers(Decimal(34), Decimal(10)))  # 43 would be right
    assert near == [54, 14, 234]
    assert set(choices(item("number", "34", tolerance="10"))) == {f"The answer is {n}." for n in (34, 54, 14, 234)}


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [("Yes", {"No."}), ("true", {"false."}), ("8", {"9.", "7.", "18."}), ("Oslo", {"Rome.", "Celsius."})],
)
def test_a_text_stands_beside_its_opposite_near_numbers_or_words_of_the_question(answer: str, wrong: set[str]) -> None:
    found = set(choices(item("exact_match", answer)))
    assert f"{answer}." in found
    assert wrong <= found


def test_what_is_also_right_is_no_wrong_choice() -> None:
    assert "9." not in choices(item("exact_match", '["8", "9"]'))
    assert registry.scorer("exact_match").twin(item("exact_match", '["yes", "no"]')) is None


def test_a_question_without_another_word_gives_no_twin() -> None:
    assert registry.scorer("exact_match").twin(item("exact_match", "Oslo", asked="Oslo?")) is None


def test_json_stands_beside_other_values_types_and_a_missing_key_that_are_wrong_by_its_own_scorer() -> None:
    given = item("json_output", '{"city": "Oslo", "warm": true}')
    found = [json.loads(choice) for choice in choices(given)]
    assert {"city": "Oslo", "warm": True} in found
    assert {"city": "Oslo", "warm": False} in found
    assert {"city": ["Oslo"], "warm": True} in found
    assert {"warm": True} in found
    assert registry.scorer("json_output").twin(item("json_output", "", schema='{"type": "object"}')) is None


def test_wanted_texts_stand_beside_each_forbidden_one() -> None:
    given = item("contains", "", all='["Oslo"]', any='["warm", "mild"]', none='["Rome", "cold"]')
    assert set(choices(given)) == {"Oslo, warm", "Rome", "cold"}


@pytest.mark.parametrize("value", [None, [], {}, float("inf")])
def test_a_value_of_which_no_other_can_be_made_gives_none(value: object) -> None:
    assert _wrong.value(item("number", "1"), value, "x") is None


@pytest.mark.parametrize("value", [True, 5, 2.5, "Oslo", [1, 2], {"a": 1}, -3])
def test_another_value_is_of_the_same_type_and_another_type_is_not(value: object) -> None:
    given = item("number", "1")
    other = _wrong.value(given, value, "x")
    assert type(other) is type(value)
    assert other != value
    assert type(_wrong.of_other_type(value)) is not type(value)


def test_the_order_of_choices_follows_from_the_id_and_puts_the_right_one_everywhere() -> None:
    made = [_twin.make(dataclasses.replace(item("number", "1"), id=str(n)), "a", ["b", "c", "d"]) for n in range(40)]
    places = [int(twin.answer) for twin in made if twin is not None]
    assert {places.count(place) > 3 for place in range(4)} == {True}
    assert _twin.make(item("number", "1"), "a", ["a", ""]) is None


def test_the_parts_of_a_name_are_turned_where_no_other_tool_is_listed() -> None:
    assert _wrong.name("weather.today", []) == "today.weather"
    assert _wrong.name("alarm", ["alarm"]) == "alarm_all"
    assert _wrong.name("alarm", ["alarm", "weather"]) == "weather"
