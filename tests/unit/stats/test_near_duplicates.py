"""Near-duplicates: against the plain comparison of all pairs, and on texts whose answer is known."""

from __future__ import annotations

import random

import pytest

from paredown.stats import near_duplicates as near

ROADS = str.split("the old road from the harbour to the market was closed for repairs until the end of the summer")


def _texts(seed: int, count: int = 120) -> list[str]:
    """Texts with few words, so that many pairs are alike, and some that are earlier ones with a word changed."""
    draw = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        words = list(texts[-1].split()) if texts and draw.random() < 0.5 else [draw.choice(ROADS) for _ in range(20)]
        words[draw.randrange(len(words))] = draw.choice(ROADS)
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 1.0])
def test_no_pair_above_the_threshold_is_missed_and_none_below_is_found(threshold: float) -> None:
    texts, others = _texts(1), _texts(1, 60)[30:] + _texts(2, 30)
    sets, other_sets = [near.shingles(t) for t in texts], [near.shingles(t) for t in others]
    best = [max(near.similarity(own, other) for other in other_sets) for own in sets]
    found = {one.text: one for one in near.nearest(texts, others, threshold)}
    assert set(found) == {place for place, value in enumerate(best) if value >= threshold}
    assert all(one.similarity == best[one.text] for one in found.values())
    assert 0 < len(found) < len(texts)


def test_groups_are_those_of_comparing_each_text_with_every_leader() -> None:
    texts = _texts(3)
    sets = [near.shingles(text) for text in texts]
    expected: dict[int, list[int]] = {}
    for place, own in enumerate(sets):
        leader = next((one for one in expected if near.similarity(own, sets[one]) >= 0.6), place)
        expected.setdefault(leader, []).append(place)
    assert near.groups(texts, 0.6) == tuple(map(tuple, expected.values()))
    assert 1 < len(expected) < len(texts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the capital of France?", "what is the  capital of FRANCE"),
        ("“Hello”, said the fox.", "Hello, said the fox"),
        ("ｆｕｌｌ　ｗｉｄｔｈ letters here", "full width letters here"),
    ],
)
def test_case_spacing_and_sentence_marks_do_not_count(one: str, other: str) -> None:
    assert near.groups([one, other], 1.0) == ((0, 1),)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the capital of France?", "What is the capital of Spain?"),
        ("What is 3 + 4?", "What is 3 - 4?"),
        ("if a < b: return a", "if a > b: return a"),
        ("今天天气怎么样", "明天早上几点开会"),
        ("yes", "no"),
        ("?", "!"),
    ],
)
def test_short_texts_that_ask_for_something_else_stay_apart(one: str, other: str) -> None:
    assert near.groups([one, other]) == ((0,), (1,))


def test_scripts_without_spaces_are_compared_letter_by_letter() -> None:
    text = "请把下面这段话翻译成英文并且保持原来的语气和格式不要添加任何解释"
    assert near.groups([text, text + "谢谢"]) == ((0, 1),)


def test_a_threshold_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="expected above 0"):
        near.groups(["a"], 0.0)


def test_ten_thousand_texts_of_one_template_take_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    plain = near.similarity

    def counting(one: frozenset[str], other: frozenset[str]) -> float:
        nonlocal compared
        compared += 1
        return plain(one, other)

    monkeypatch.setattr(near, "similarity", counting)
    texts = [" ".join([*ROADS, *(f"w{place}x{n}" for n in range(12))]) for place in range(400)]
    assert len(near.groups([*texts, *texts])) == 400
    assert compared < 2 * 400
