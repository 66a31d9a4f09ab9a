"""Each kind of instruction is kept or broken."""

from __future__ import annotations

import json

import pytest

from paredown.records.golden import Answer, GoldenItem, Score
from paredown.records.traffic import Message
from paredown.scorers.instructions import SCORER


def judged(text: str, *checks: object, answer: str = "", **arguments: str) -> Score:
    given = {"checks": json.dumps(checks), **arguments}
    item = GoldenItem("i", "s", "instructions", (Message("user", "?"),), answer, arguments=given)
    SCORER.check(item)
    return SCORER.score(item, Answer("i", text))


@pytest.mark.parametrize(
    ("kind", "text", "count"),
    [
        ("words", "It's a well-known — fact.", 4),
        ("words", "私は・Python 3", 4),
        ("words", "대한민국의 수도", 2),
        ("words", "नमस्ते दुनिया", 2),
        ("sentences", "It is 3.5 m. Is it? 'Yes!' he said", 4),
        ("sentences", "これは本です。「はい。」あれは？", 3),
        ("sentences", "यह है। वह है।", 2),
        ("sentences", "A title\n\nA sentence.", 2),
        ("lines", "a\n\n b \nc\n", 3),
        ("paragraphs", "a\nb\n \nc\n\n\nd\n", 3),
        ("bullets", "Two:\n- a\n  * b\n1. c\n2) d\n-e\n10.5 kg\n", 4),
    ],
)
def test_amounts_are_counted_and_both_limits_are_kept(kind: str, text: str, count: int) -> None:
    assert judged(text, {"kind": kind, "least": count, "most": count}).value == 1.0
    assert judged(text, {"kind": kind, "least": count + 1}).why == f"kept 0 of 1: {kind}: {count}, at least {count + 1}"
    assert judged(text, {"kind": kind, "most": count - 1}).why == f"kept 0 of 1: {kind}: {count}, at most {count - 1}"


def test_words_of_a_script_without_spaces_are_not_scored() -> None:
    assert judged("สวัสดี", {"kind": "words", "most": 5}) == Score(
        "i", None, "words cannot be counted in the script of 'ส'"
    )


@pytest.mark.parametrize(
    ("check", "kept", "broken"),
    [
        ({"kind": "keyword", "text": "Cat"}, "A cat.", "A catalog."),
        ({"kind": "keyword", "text": "cat", "least": 2}, "cat, CAT", "cat"),
        ({"kind": "keyword", "text": "cat", "most": 1}, "no", "cat cat"),
        ({"kind": "keyword", "text": "na na", "least": 2}, "na na na na", "na na na"),
        ({"kind": "forbidden", "texts": ["red", "blue"]}, "green, hundred", "Blue"),
        ({"kind": "starts_with", "text": "Dear  Ada"}, " dear Ada, hello", "Hello, dear Ada"),
        ({"kind": "ends_with", "text": "Any questions?"}, "Yes. Any\nquestions? ", "Any questions? No."),
        ({"kind": "case", "is": "lower"}, "all of it, 1", "all of It"),
        ({"kind": "case", "is": "upper"}, "ALL OF IT, 1", "123"),
        ({"kind": "json"}, ' {"a": [1]}\n', '```json\n{"a": 1}\n```'),
        ({"kind": "json"}, "[]", "42"),
        ({"kind": "json"}, "{}", '{"a": NaN}'),
        ({"kind": "json"}, "{}", "[" * 100_000),
        ({"kind": "language", "is": "Cyrillic"}, "Это Python, язык для программирования машин", "Это Python language"),
        ({"kind": "language", "is": "Latin"}, "Ｌａｔｉｎ é", "123"),
        ({"kind": "language", "is": "Han"}, "我在东京学习", "私は東京で学んでいます"),
        ({"kind": "language", "is": "Kana"}, "私は東京で学んでいます", "我在东京学习"),
        ({"kind": "language", "is": "Hangul"}, "서울은 수도이다", "Seoul"),
        ({"kind": "language", "is": "Devanagari"}, "नमस्ते दुनिया", "नमस्ते world"),
    ],
)
def test_an_instruction_is_told_kept_from_broken(check: dict[str, object], kept: str, broken: str) -> None:
    assert judged(kept, check).value == 1.0
    assert judged(broken, check).value == 0.0


def test_all_checks_must_be_kept_unless_the_share_is_asked_for() -> None:
    checks = (
        {"kind": "words", "most": 2},
        {"kind": "lines", "most": 1},
        {"kind": "json"},
        {"kind": "bullets", "most": 0},
    )
    assert judged("one two", *checks).value == 0.0
    assert judged("one two", *checks, mode="fraction").value == 0.75
    assert judged("one two", *checks).why == "kept 3 of 4: not JSON alone"
    assert judged("one two", *checks[:2]) == Score("i", 1.0)


def test_an_empty_answer_keeps_no_instruction() -> None:
    assert judged(" \n", {"kind": "words", "most": 5}, mode="fraction").value == 0.0


@pytest.mark.parametrize(
    ("checks", "says"),
    [
        ([], r"field 'arguments.checks' is '\[\]'"),
        (["words"], "expected a list of checks"),
        ([{"kind": "json"}, {"kind": "rhymes"}], r"checks\[1\].kind' is 'rhymes'; expected one of words"),
        ([{"kind": "words"}], r"lacks 'least' or 'most'"),
        ([{"kind": "words", "max": 5}], "expected only kind, least, most"),
        ([{"kind": "words", "most": -1}], "whole number"),
        ([{"kind": "words", "most": True}], "whole number"),
        ([{"kind": "words", "most": "5"}], "whole number"),
        ([{"kind": "words", "least": 6, "most": 5}], r"least' is 6; expected at most 'most', which is 5"),
        ([{"kind": "keyword"}], "lacks 'text'"),
        ([{"kind": "keyword", "text": " "}], "expected a text"),
        ([{"kind": "forbidden", "texts": "red"}], "expected a list of texts"),
        ([{"kind": "forbidden", "texts": []}], "expected a list of texts"),
        ([{"kind": "case", "is": "title"}], "lower, upper"),
        ([{"kind": "language", "is": "German"}], "languages that share a script cannot be told apart"),
    ],
)
def test_a_check_that_cannot_be_made_is_refused_by_field(checks: list[object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        judged("x", *checks)


def test_an_unknown_mode_argument_or_answer_is_refused() -> None:
    for says, arguments in (
        ("all, fraction", {"mode": "any"}),
        ("'modus'", {"modus": "all"}),
        ("field 'answer'", {"answer": "x"}),
    ):
        with pytest.raises(ValueError, match=says):
            judged("x", {"kind": "json"}, **arguments)
