"""Patterns in Python's notation, none of which can hang a run."""

from __future__ import annotations

import pytest

from paredown.records.golden import Answer, GoldenItem, Score
from paredown.records.traffic import Message
from paredown.scorers import regular_expression
from paredown.scorers.regular_expression import SCORER


def scored(text: str, pattern: str, **arguments: str | int) -> Score:
    item = GoldenItem("i", "s", "regular_expression", (Message("user", "?"),), pattern, arguments=arguments)
    SCORER.check(item)
    return SCORER.score(item, Answer("i", text))


def value(text: str, pattern: str, **arguments: str | int) -> float | None:
    return scored(text, pattern, **arguments).value


def test_a_search_looks_anywhere_and_a_full_match_at_the_whole_text() -> None:
    assert value("It is 42.", r"\d+") == 1.0
    assert value("It is 42.", r"\d+", mode="fullmatch") == 0.0
    assert value(" 42\n", r"\d+", mode="fullmatch") == 1.0
    assert value("It is forty-two.", r"\d+") == 0.0


def test_the_first_group_must_be_the_value() -> None:
    arguments: dict[str, str | int] = {"mode": "first_group_equals", "value": 42}
    assert value("Answer: 42.", r"Answer:([ \d]+)", **arguments) == 1.0
    assert value("Answer: 421", r"Answer: (\d+)", **arguments) == 0.0
    assert value("Answer: none", r"Answer: (?:(\d+)|none)", **arguments) == 0.0


def test_case_does_not_count_in_pattern_and_value_when_asked() -> None:
    arguments = {"mode": "first_group_equals", "value": "PARIS"}
    assert value("ANSWER: Paris", r"answer: (\w+)", flags="i", **arguments) == 1.0
    assert value("answer: Paris", r"answer: (\w+)", **arguments) == 0.0


def test_flags_are_those_of_python() -> None:
    assert value("a\nb", "^b$") == 0.0
    assert value("a\nb", "^b$", flags="m") == 1.0
    assert value("a\nb", "a.b") == 0.0
    assert value("a\nb", "a.b", flags="s") == 1.0


def test_a_pattern_that_runs_away_is_given_up_and_the_answer_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_expression, "LONGEST_S", 0.05)
    found = scored("a" * 60 + "c", "(a|a)*b|(?:a?){40}a{60}d")
    assert found.value is None
    assert "longer than 0.05 s" in found.why


def test_a_broken_pattern_is_refused_with_its_position() -> None:
    with pytest.raises(ValueError, match=r"field 'answer' is no pattern: missing \).* at position 5"):
        value("x", "abc(d")


@pytest.mark.parametrize(
    ("pattern", "arguments", "says"),
    [
        ("a*", {}, "fits the empty text"),
        ("", {}, "fits the empty text"),
        ("a", {"mode": "match"}, "search, fullmatch, first_group_equals"),
        ("a", {"flags": "x"}, "letters of i, m, s"),
        ("a", {"mode": "first_group_equals"}, "both or neither"),
        ("(a)", {"value": "a"}, "both or neither"),
        ("a", {"mode": "first_group_equals", "value": "a"}, "has no group"),
        ("(a)", {"mode": "first_group_equals", "value": " "}, "is empty"),
        ("a", {"flag": "i"}, "expected only mode, flags, value"),
    ],
)
def test_an_item_that_cannot_be_scored_is_refused_by_field(pattern: str, arguments: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        value("x", pattern, **arguments)
