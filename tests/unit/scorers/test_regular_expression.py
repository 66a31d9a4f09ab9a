"""Patterns are matched as Python does, but never by backtracking."""

from __future__ import annotations

import re

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message
from paredown.scorers.regular_expression import MOST_CHARACTERS, SCORER, Group, _program, _run

TEXTS = ("", "a", "ab", "aab", "b a\nab", "AbaB_1", "xaay\nzb", "ba-ab ba", "éa1", "abcabcab")


def value(text: str, pattern: str, **arguments: str | int) -> float | None:
    item = GoldenItem("i", "s", "regular_expression", (Message("user", "?"),), pattern, arguments=arguments)
    SCORER.check(item)
    return SCORER.score(item, Answer("i", text)).value


@pytest.mark.parametrize("flags", ["", "i", "ms"])
@pytest.mark.parametrize(
    "pattern",
    [
        *("a(b)?", "(a+?)b", "(a+)b?", "(a|ab)(?:c|bcd)*", "(?:a|(b))+", "(ab){2,3}", "(a{0,2})b", "(a{2,}?)", "()a"),
        *(r"\b(\w+)\b$", r"^(\w)", r"\A(.)", r"(.)\Z", r"\B(.)", "([^a-b\n])", r"([\d_]+)", "(A)", "(?i:(A))b", "(é)"),
        *("x(.*)z", "(.*?)b", "(?m)^(z)", "(?x) ( a ) # first", "([^a])", "(?:(a)|b)*?b", "z|(b)|a"),
    ],
)
def test_the_match_and_its_first_group_are_those_of_pythons_own(pattern: str, flags: str) -> None:
    own = re.compile(pattern, sum({"i": re.I, "m": re.M, "s": re.S}[letter] for letter in flags))
    for text in TEXTS:
        for whole, found in ((False, own.search(text)), (True, own.fullmatch(text))):
            assert _run(_program(pattern, flags), text, whole=whole) == (found and Group(*found.span(1))), text


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a?){40}a{40}b", "(.*)*x", "a*a*a*a*a*a*b", "(a|aa)+$b"])
def test_a_pattern_that_would_run_away_by_backtracking_is_answered(pattern: str) -> None:
    assert value("a" * 60, pattern) == 0.0


def test_a_search_looks_anywhere_and_a_full_match_at_the_whole_text() -> None:
    assert value("It is 42.", r"\d+") == 1.0
    assert value("It is 42.", r"\d+", mode="fullmatch") == 0.0
    assert value(" 42\n", r"\d+", mode="fullmatch") == 1.0


def test_the_first_group_must_be_the_value() -> None:
    arguments: dict[str, str | int] = {"mode": "first_group_equals", "value": 42}
    assert value("Answer: 42.", r"Answer:([ \d]+)", **arguments) == 1.0
    assert value("Answer: 421", r"Answer: (\d+)", **arguments) == 0.0
    assert value("Answer: none", r"Answer: (?:(\d+)|none)", **arguments) == 0.0


def test_case_does_not_count_in_pattern_and_value_when_asked() -> None:
    arguments = {"mode": "first_group_equals", "value": "PARIS", "flags": "i"}
    assert value("ANSWER: Paris", r"answer: (\w+)", **arguments) == 1.0


def test_a_text_beyond_the_limit_is_cut_for_a_search_and_not_scored_as_a_whole() -> None:
    assert value("b" * MOST_CHARACTERS + "a", "a") == 0.0
    assert value("b" * MOST_CHARACTERS + "b", "b$") == 0.0
    assert value("a" * (MOST_CHARACTERS + 1), "a+", mode="fullmatch") is None


def test_a_broken_pattern_is_refused_with_its_position() -> None:
    with pytest.raises(ValueError, match=r"field 'answer' is no pattern: missing \), .* at position 3"):
        value("x", "abc(d")


@pytest.mark.parametrize(
    ("pattern", "arguments", "says"),
    [
        (r"(a)\1", {}, "a back-reference"),
        ("a(?=b)", {}, "look-around"),
        ("a++b", {}, "possessive"),
        ("(?:a{100}){100}", {}, "too large"),
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
