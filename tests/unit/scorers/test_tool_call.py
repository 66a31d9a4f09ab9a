"""Tool calls are found wherever models put them."""

from __future__ import annotations

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message
from paredown.scorers.tool_call import SCORER

RIGHT = '{"name": "weather", "arguments": {"city": "Paris", "days": 3, "metric": true}}'
GIVEN = RIGHT


def value(text: str, answer: str = RIGHT, **arguments: str) -> float | None:
    item = GoldenItem("i", "s", "tool_call", (Message("user", "?"),), answer, arguments=arguments)
    SCORER.check(item)
    return SCORER.score(item, Answer("i", text)).value


@pytest.mark.parametrize(
    "text",
    [
        GIVEN,
        f"<tool_call>\n{GIVEN}\n</tool_call>",
        f"I will call it.\n```json\n{GIVEN}\n```",
        f"[{GIVEN}]",
        GIVEN.replace("arguments", "parameters"),
        (
            '{"type": "function", "function": {"name": "weather", '
            '"arguments": "{\\"city\\": \\"Paris\\", \\"days\\": 3, \\"metric\\": true}"}}'
        ),
        '{"days": 1} then ' + GIVEN.replace("3", "3.0"),
    ],
)
def test_a_right_call_is_found_in_every_usual_form(text: str) -> None:
    assert value(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is sunny in Paris.",
        GIVEN[:-1],
        GIVEN.replace("weather", "forecast"),
        GIVEN.replace("3", '"3"'),
        GIVEN.replace("true", "1"),
        GIVEN.replace("Paris", "paris"),
        '{"name": "weather", "arguments": {"city": "Paris", "days": 3}}',
        GIVEN.replace('"days": 3', '"days": 3, "hours": 1'),
        f"{GIVEN}\n{GIVEN}",
    ],
)
def test_another_call_or_none_is_wrong(text: str) -> None:
    assert value(text) == 0.0


def test_case_of_text_values_can_be_left_out_of_account() -> None:
    assert value(GIVEN.replace("Paris", " PARIS"), strings="folded") == 1.0


def test_any_of_several_right_calls_will_do() -> None:
    assert value(GIVEN, f'[{{"name": "other", "arguments": {{}}}}, {RIGHT}]') == 1.0


def test_no_call_is_right_where_none_is_needed() -> None:
    assert value("Hello! How can I help?", "none") == 1.0
    assert value('The set {"a": 1} is JSON.', "none") == 1.0


@pytest.mark.parametrize("text", [GIVEN, "", "<tool_call>{broken"])
def test_a_call_an_attempt_or_silence_is_wrong_where_none_is_needed(text: str) -> None:
    assert value(text, "none") == 0.0


def test_chance_is_unknown_where_silence_about_tools_is_right() -> None:
    item = GoldenItem("i", "s", "tool_call", (Message("user", "?"),), "none")
    assert SCORER.chance(item) is None


@pytest.mark.parametrize("answer", ["no", "{}", "[]", '{"name": "x"}', '{"name": 1, "arguments": {}}'])
def test_an_answer_that_is_no_call_is_refused(answer: str) -> None:
    with pytest.raises(ValueError, match="field 'answer'"):
        value("x", answer)
