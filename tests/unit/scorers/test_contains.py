"""Texts are looked for as whole words."""

from __future__ import annotations

import json

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message
from paredown.scorers.contains import SCORER


def item(answer: str = "", **lists: object) -> GoldenItem:
    arguments = {name: json.dumps(value) for name, value in lists.items()}
    return GoldenItem("i", "s", "contains", (Message("user", "?"),), answer, arguments=arguments)


def value(text: str, **lists: list[str]) -> float | None:
    SCORER.check(item(**lists))
    return SCORER.score(item(**lists), Answer("i", text)).value


def test_every_text_of_all_must_be_there() -> None:
    assert value("Paris lies on the Seine.", all=["Paris", "Seine"]) == 1.0
    assert value("Paris lies on a river.", all=["Paris", "Seine"]) == 0.0


def test_one_text_of_any_is_enough() -> None:
    assert value("The car is red.", any=["car", "automobile"]) == 1.0
    assert value("The train is red.", any=["car", "automobile"]) == 0.0


def test_no_text_of_none_may_be_there() -> None:
    assert value("A blue car", all=["car"], none=["red"]) == 1.0
    assert value("A red car", all=["car"], none=["red"]) == 0.0


def test_case_width_and_white_space_do_not_count() -> None:
    assert value("ＮＥＷ\n  york", all=["New York"]) == 1.0
    assert value("STRASSE", all=["Straße"]) == 1.0


def test_a_part_of_a_word_does_not_count_where_words_have_spaces() -> None:
    assert value("A catalog", all=["cat"]) == 0.0
    assert value("A catalog for a cat", all=["cat"]) == 1.0
    assert value("दिल्ली", all=["दिल"]) == 0.0
    assert value("hundred", all=["red"]) == 0.0


def test_a_part_counts_where_the_script_has_no_spaces() -> None:
    assert value("首都は東京です", all=["東京"]) == 1.0
    assert value("首都は東京です", any=["京都"]) == 0.0
    assert value("これはPythonです", all=["python"]) == 1.0


def test_text_that_starts_with_punctuation_is_found_after_a_word() -> None:
    assert value("main.py", all=[".py"]) == 1.0


def test_an_empty_answer_avoids_nothing() -> None:
    assert value(" \n", none=["red"]) == 0.0


def test_what_was_missing_or_there_is_told() -> None:
    assert SCORER.score(item(all=["Seine"]), Answer("i", "x")).why == "'Seine' is missing"
    assert SCORER.score(item(none=["red"]), Answer("i", "Red")).why == "'red' is there"


def test_chance_is_unknown_where_texts_must_only_be_avoided() -> None:
    assert SCORER.chance(item(none=["a"])) is None
    assert SCORER.chance(item(none=["a"], any=["b"])) == 0.0


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (item(), "expected a list"),
        (item(all=[]), "field 'arguments.all'"),
        (item(any=["a", " "]), "field 'arguments.any'"),
        (item(none="a"), "field 'arguments.none'"),
        (item(all=["a", 1]), "field 'arguments.all'"),
        (item(al=["a"]), "expected only all, any, none"),
        (item("a", all=["a"]), "field 'answer'"),
        (item(all=["A red car"], none=["RED"]), "forbids a text of 'arguments.all'"),
        (item(any=["a", "b"], none=["b", "a"]), "forbids all of 'arguments.any'"),
    ],
)
def test_an_item_that_cannot_be_scored_is_refused_by_field(bad: GoldenItem, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SCORER.check(bad)
