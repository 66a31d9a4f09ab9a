"""The inverse of a text's perplexity is its score."""

from __future__ import annotations

import dataclasses
import math

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.scorers.perplexity import SCORER

ITEM = GoldenItem("i", "s", "perplexity", (), "0", choices=("A text.",))


def answer(*logprobs: float, tokens: int = 4) -> Answer:
    return Answer("i", choice_logprobs=logprobs, choice_tokens=(tokens,) * len(logprobs))


def test_the_score_is_the_geometric_mean_of_the_probabilities_of_the_tokens() -> None:
    given = math.log(0.5) + math.log(0.2) + math.log(0.1) + math.log(0.16)
    score = SCORER.score(ITEM, answer(given))
    assert score.value == pytest.approx((0.5 * 0.2 * 0.1 * 0.16) ** 0.25)
    assert score.details["perplexity"] == pytest.approx(5.0)
    assert score.details["tokens"] == 4


def test_the_example_in_the_summary_is_right() -> None:
    found = [SCORER.score(ITEM, answer(math.log(p) * 4)).details["perplexity"] for p in (0.20, 0.19)]
    assert found == pytest.approx([5.0, 5.263], abs=1e-3)
    assert "perplexity 5 → 5.26" in SCORER.summary


def test_a_certain_text_scores_one_and_rounding_never_gives_more() -> None:
    assert SCORER.score(ITEM, answer(0.0)).value == 1.0
    assert SCORER.score(ITEM, answer(1e-7)).value == 1.0


def test_an_impossible_text_scores_next_to_nothing_without_an_overflow() -> None:
    score = SCORER.score(ITEM, answer(-1e6))
    assert score.value == 0.0
    assert math.isfinite(float(score.details["perplexity"] or 0.0))


@pytest.mark.parametrize(
    "bad", [answer(), answer(-1.0, -2.0), answer(math.nan), answer(-math.inf), answer(-1.0, tokens=0)]
)
def test_what_has_no_mean_is_not_scored(bad: Answer) -> None:
    score = SCORER.score(ITEM, bad)
    assert score.value is None
    assert score.why


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"choices": ()}, "0 entries; expected one"),
        ({"choices": ("a", "b")}, "2 entries; expected one"),
        ({"choices": ("  ",)}, "empty text"),
        ({"answer": "1"}, "field 'answer' is '1'"),
        ({"arguments": {"normalize": "bytes"}}, "has 'normalize'; expected only raw"),
        ({"zero_tolerance": True}, "changes with any rounding"),
    ],
)
def test_an_item_that_it_cannot_score_is_refused(changes: dict[str, object], says: str) -> None:
    SCORER.check(ITEM)
    with pytest.raises(ValueError, match=says):
        SCORER.check(dataclasses.replace(ITEM, **changes))
