"""Texts are compared after normalization."""

from __future__ import annotations

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message
from paredown.scorers.exact_match import SCORER


def value(text: str, right: str, mode: str = "exact") -> float | None:
    item = GoldenItem("i", "s", "exact_match", (Message("user", "?"),), right, arguments={"mode": mode})
    SCORER.check(item)
    return SCORER.score(item, Answer("i", text)).value


@pytest.mark.parametrize("text", ["Paris", " paris.\n", "**PARIS**", "Ｐａｒｉｓ", "“Paris”!"])
def test_case_width_space_and_outer_punctuation_do_not_count(text: str) -> None:
    assert value(text, "Paris") == 1.0


@pytest.mark.parametrize("text", ["", "Paris, France", "Pari", "Lyon"])
def test_another_text_is_wrong(text: str) -> None:
    assert value(text, "Paris") == 0.0


def test_any_of_several_right_answers_will_do() -> None:
    several = '["Paris", "City of Paris"]'
    assert value("city of paris", several) == 1.0
    assert value("City", several) == 0.0


def test_an_answer_in_brackets_that_is_no_list_is_taken_as_it_is() -> None:
    assert value("[sic]", "[sic]") == 1.0


def test_the_first_line_alone_counts_when_asked() -> None:
    assert value("\nParis\nIt lies on the Seine.", "Paris", "first_line") == 1.0
    assert value("Well,\nParis", "Paris", "first_line") == 0.0


def test_contains_looks_for_whole_words() -> None:
    assert value("The capital is Paris.", "Paris", "contains") == 1.0
    assert value("Comparison", "Paris", "contains") == 0.0
    assert value("A catalog, then a cat.", "cat", "contains") == 1.0
    assert value("1969 and 69", "969", "contains") == 0.0


def test_contains_needs_no_spaces_where_the_script_has_none() -> None:
    assert value("首都は東京です", "東京", "contains") == 1.0
    assert value("수도는 서울은 큰", "서울", "contains") == 1.0


def test_an_inflected_hindi_vowel_sign_continues_the_word() -> None:
    assert value("दिल्ली", "दिल", "contains") == 0.0


@pytest.mark.parametrize("right", ["...", '["a", "!"]'])
def test_an_answer_without_letters_is_refused(right: str) -> None:
    with pytest.raises(ValueError, match="field 'answer'"):
        value("x", right)


def test_an_unknown_mode_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="exact, first_line, contains"):
        value("x", "x", "fuzzy")
