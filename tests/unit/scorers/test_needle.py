"""The hidden word is found, and no other of its kind."""

from __future__ import annotations

import dataclasses

import pytest

from paredown.records.golden import Answer, GoldenItem, Score
from paredown.records.traffic import Message
from paredown.scorers.needle import SCORER

TEXT = "The word of the mill is copper. The word of the bank is tiger. What is the word of the mill?"
ITEM = GoldenItem(
    "n1",
    "long_context",
    "needle",
    (Message("user", TEXT),),
    "copper",
    tags={"length": "512", "depth": "25"},
    arguments={"others": '["tiger"]', "lead": "The word of the mill is"},
)


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        ("COPPER!", 1.0, ""),
        ("It is tiger.", 0.0, "says 'tiger' instead"),
        ("copper and tiger", 0.0, "says 'tiger' too"),
        ("coppery", 0.0, "does not say the word"),
        ("", 0.0, "does not say the word"),
    ],
)
def test_only_the_word_asked_for_is_right(text: str, value: float, why: str) -> None:
    score = SCORER.score(ITEM, Answer("n1", text))
    assert (score.value, score.why) == (value, why)


def test_the_sentence_on_all_scores_counts_by_length_and_by_depth_in_order() -> None:
    def scored(length: str, depth: str, value: float | None) -> Score:
        return Score("i", value, details={"length": length, "depth": depth})

    scores = [scored("1024", "0", 1.0), scored("512", "0", 1.0), scored("512", "50", 0.0), scored("512", "50", None)]
    assert SCORER.summarize is not None
    assert (
        SCORER.summarize(scores) == "Needles found by length: 512 1 of 2, 1024 1 of 1; by depth: 0 2 of 2, 50 0 of 1."
    )
    assert SCORER.score(ITEM, Answer("n1", "copper")).details == {"length": "512", "depth": "25"}


def test_its_twin_chooses_among_all_hidden_words_behind_the_lead() -> None:
    twin = SCORER.twin(ITEM)
    assert twin is not None
    assert twin.choices[int(twin.answer)] == "The word of the mill is copper."
    assert set(twin.choices) == {"The word of the mill is copper.", "The word of the mill is tiger."}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"arguments": {}}, "'arguments.others' is missing"),
        ({"arguments": {"others": '["tiger"]', "leed": "x"}}, "has 'leed'"),
        ({"arguments": {"others": '["tiger"]', "lead": 5}}, "field 'arguments.lead' is 5"),
        ({"arguments": {"others": '["lion"]'}}, "'lion', which does not stand in the text"),
        ({"answer": "lion"}, "field 'answer' has 'lion', which does not stand in the text"),
        ({"answer": " "}, "'answer' is empty"),
        ({"arguments": {"others": '["copper"]'}}, "stands in the answer or in another"),
    ],
)
def test_an_item_that_cannot_be_found_is_refused(changes: dict[str, object], says: str) -> None:
    SCORER.check(ITEM)
    with pytest.raises(ValueError, match=says):
        SCORER.check(dataclasses.replace(ITEM, **changes))
