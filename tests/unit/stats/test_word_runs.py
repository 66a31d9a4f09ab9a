"""How much of a text stands in others: on texts whose answer is counted by hand, and against the plain way."""

from __future__ import annotations

import random

import pytest

from paredown.stats import near_duplicates, word_runs

LINE = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def shares(texts: list[str], others: list[str], **more: float) -> dict[int, float]:
    return {one.text: one.share for one in word_runs.covered(texts, others, **more)}


def plain(text: str, others: list[str]) -> float:
    """Every run of the text looked up in every other text."""
    words = near_duplicates.words(text)
    held = {tuple(o[i : i + 8]) for o in map(near_duplicates.words, others) for i in range(len(o) - 7)}
    inside = {i + k for i in range(len(words) - 7) if tuple(words[i : i + 8]) in held for k in range(8)}
    return len(inside) / len(words)


def test_a_text_inside_a_longer_one_is_all_there() -> None:
    other = "before it " + " ".join(LINE) + " and after"
    assert word_runs.covered([" ".join(LINE)], ["something else", other]) == (word_runs.Covered(0, 1, 1.0),)


def test_words_of_shared_runs_are_counted_once() -> None:
    assert shares([" ".join(LINE)], [" ".join(LINE[:9])]) == {0: 9 / 12}
    assert shares([" ".join(LINE)], [" ".join(LINE[:7])]) == {}


def test_two_texts_together_can_hold_a_third_but_no_run_reaches_over_their_border() -> None:
    assert shares([" ".join(LINE)], [" ".join(LINE[:8]), " ".join(LINE[4:])]) == {0: 1.0}
    assert shares([" ".join(LINE)], [" ".join(LINE[:6]), " ".join(LINE[6:])]) == {}


def test_a_short_text_must_be_all_of_another() -> None:
    assert shares(["How are you?", "fine"], ["how are YOU", "I am fine and how are you today, my friend"]) == {0: 1.0}


def test_runs_that_many_texts_share_belong_to_none_of_them() -> None:
    texts = [" ".join([*LINE, f"{name}{n}", *(f"{name}x{k}{n}" for k in range(8))]) for n, name in enumerate("abcd")]
    assert len(shares(texts, [" ".join(LINE)])) == 4
    assert shares(texts, [" ".join(LINE)], most_texts=3) == {}
    assert shares(texts, [texts[2]], most_texts=3) == {2: 1.0}


@pytest.mark.parametrize("seed", range(3))
def test_the_share_is_that_of_looking_up_every_run(seed: int) -> None:
    draw = random.Random(seed)
    others = [" ".join(draw.choices("abcdefg", k=60)) for _ in range(20)]
    texts = []
    for _ in range(60):
        start, words = draw.randrange(30), draw.choice(others).split()
        texts.append(" ".join([*draw.choices("abcdefg", k=6), *words[start : start + 15], "h"]))
    found = shares(texts, others)
    assert found == pytest.approx({n: value for n, text in enumerate(texts) if (value := plain(text, others)) > 0})
    assert len(found) > 0


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert word_runs.covered([], ["a"]) == ()
    assert word_runs.covered(["", "?"], ["", "!"]) == ()
