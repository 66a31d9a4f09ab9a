"""The most likely choice is the answer."""

from __future__ import annotations

import math

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message
from paredown.scorers.likelihood import SCORER


def item(answer: str = "0", choices: tuple[str, ...] = ("Paris", "Rome"), **arguments: str) -> GoldenItem:
    return GoldenItem("i", "s", "likelihood", (Message("user", "?"),), answer, choices=choices, arguments=arguments)


def answer(*logprobs: float, tokens: tuple[int, ...] = ()) -> Answer:
    return Answer("i", choice_logprobs=logprobs, choice_tokens=tokens or (1,) * len(logprobs))


def test_the_largest_log_probability_wins() -> None:
    assert SCORER.score(item("1"), answer(-2.0, -1.0)).value == 1.0
    assert SCORER.score(item("0"), answer(-2.0, -1.0)).value == 0.0


def test_a_tie_goes_to_the_first_choice_and_is_told() -> None:
    first, second = SCORER.score(item("0"), answer(-1.0, -1.0)), SCORER.score(item("1"), answer(-1.0, -1.0))
    assert (first.value, second.value) == (1.0, 0.0)
    assert first.why == "2 choices are equally likely"


def test_normalizing_by_tokens_compares_the_mean_of_each_choice() -> None:
    given = answer(-3.0, -4.0, tokens=(1, 2))
    assert SCORER.score(item("0"), given).value == 1.0
    assert SCORER.score(item("1", normalize="tokens"), given).value == 1.0


def test_normalizing_by_bytes_counts_utf8() -> None:
    given = answer(-4.0, -5.0)  # per byte: 4 letters → -1; 3 characters of 3 bytes → -0.56
    assert SCORER.score(item("1", ("abcd", "東京都"), normalize="bytes"), given).value == 1.0


def test_normalizing_by_characters_is_acc_norm_of_the_harness() -> None:
    given = answer(-4.0, -5.0)  # per character: 4 letters → -1; 3 characters → -1.67
    assert SCORER.score(item("0", ("abcd", "東京都"), normalize="characters"), given).value == 1.0


def test_missing_and_nonfinite_log_probabilities_are_not_scored() -> None:
    assert SCORER.score(item(), answer(-1.0)).value is None
    assert SCORER.score(item(), answer(-1.0, math.nan)).value is None


def test_chance_is_one_over_the_number_of_choices() -> None:
    assert SCORER.chance(item(choices=("a", "b", "c", "d"))) == 0.25


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (item(choices=("a",)), "at least two"),
        (item(choices=("a", "a")), "twice"),
        (item(choices=("a", "")), "empty"),
        (item("2"), "0 to 1"),
        (item("-1"), "0 to 1"),
        (item("²"), "0 to 1"),
        (item(normalize="words"), "none, tokens, bytes"),
    ],
)
def test_an_item_that_cannot_be_scored_is_refused_by_field(bad: GoldenItem, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SCORER.check(bad)
