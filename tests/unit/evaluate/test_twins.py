"""Which slices are asked as choices follows from the baseline's answers alone, and stays."""

from __future__ import annotations

import dataclasses

from paredown import registry
from paredown.evaluate import twins
from paredown.evaluate.twins import SliceChoice, Twinned
from paredown.records.golden import Answer, Evaluation, GoldenItem, Score
from paredown.records.traffic import Message

TOOLS = '{"name": "rain", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}'


def number_item(name: str, slice_name: str = "sums", cluster: str = "") -> GoldenItem:
    return GoldenItem(name, slice_name, "number", (Message("user", "3 + 4?"),), "7", cluster=cluster)


def choice_item(name: str, slice_name: str = "sums") -> GoldenItem:
    return GoldenItem(name, slice_name, "likelihood", (Message("user", "?"),), "0", choices=("a", "b"))


def no_call(name: str) -> GoldenItem:
    return GoldenItem(name, "tools", "tool_call", (Message("system", TOOLS), Message("user", "Hi.")), "none")


def scored(*values: float | None, cut: bool = False) -> Evaluation:
    answers = tuple(Answer("i", "text", finish_reason="length" if cut else "stop") for _ in values)
    return Evaluation("c", "s", {}, answers, tuple(Score("i", value) for value in values), 0, 0, 0.0)


SUMS = [number_item(f"s{i}") for i in range(8)]


def test_a_slice_of_which_fewer_than_one_in_four_are_right_is_asked_as_choices() -> None:
    assert twins.decide(SUMS, scored(1, 0, 0, 0, 0, 0, 0, 0)).names == ("sums",)
    assert twins.decide(SUMS, scored(1, 1, 0, 0, 0, 0, 0, 0)).names == ()


def test_where_no_choice_can_be_scored_or_is_wanted_every_prompt_stays_written() -> None:
    found = twins.decide(SUMS, scored(*(0,) * 8), possible=False)
    assert found.slices == (SliceChoice("sums", 0.0, 8, as_choices=False),)
    assert twins.replaced(SUMS, found) == tuple(SUMS)


def test_only_written_prompts_with_a_score_and_a_known_chance_count() -> None:
    items = [*SUMS[:5], choice_item("c1"), choice_item("c2")]
    found = twins.decide(items, scored(1, 0, 0, 0, None, 1, 1))
    assert found.slices == (SliceChoice("sums", 1.0, 4, as_choices=False),)
    silent = [no_call(f"n{i}") for i in range(6)]
    calls = [
        dataclasses.replace(silent[0], id=f"c{i}", answer='{"name": "rain", "arguments": {"city": "Rome"}}')
        for i in range(5)
    ]
    found = twins.decide([*silent, *calls], scored(*(1,) * 6, *(0,) * 5))
    assert found.slices == (SliceChoice("tools", 0.0, 5, as_choices=True),)


def test_too_few_written_prompts_say_nothing() -> None:
    assert twins.decide(SUMS[:2], scored(0, 0)).names == ()
    assert twins.decide(SUMS[:3], scored(0, 0, 0)).names == ("sums",)


def test_a_slice_without_any_twin_is_not_decided_on() -> None:
    free = [GoldenItem(f"r{i}", "safety", "refusal", (Message("user", "?"),), "refuse") for i in range(5)]
    assert twins.decide([*free, choice_item("c", "facts")], scored(0, 0, 0, 0, 0, 0)) == Twinned()


def test_what_was_decided_before_stays_and_only_new_slices_are_added() -> None:
    before = twins.decide(SUMS, scored(*(0,) * 8))
    more = [*SUMS, *(number_item(f"t{i}", "more") for i in range(4))]
    after = twins.decide(more, scored(*(1,) * 8, 0, 0, 0, 0), before=before)
    assert after.names == ("more", "sums")
    assert before.slices[0] in after.slices


def test_twins_stand_in_the_place_of_their_items_and_the_rest_stays() -> None:
    items = (SUMS[0], choice_item("c"), number_item("x", "other"), dataclasses.replace(SUMS[1], cluster="doc"))
    twinned = twins.decide(SUMS[2:], scored(*(0,) * 6), further=items)
    made = twins.replaced(items, twinned)
    assert [item.id for item in made] == ["s0~twin", "c", "x", "s1~twin"]
    assert [item.cluster for item in made] == ["s0", "", "", "doc"]
    assert twins.replaced(items, Twinned()) == items
    assert twins.count(made, twinned) == 2
    both = {item.id for item in twins.with_twins(items, twinned)}
    assert both == {"s0", "c", "x", "s1", *(f"s{n}~twin" for n in range(8))}


def test_the_sentence_says_how_many_and_why() -> None:
    twinned = twins.decide(SUMS, scored(1, *(0,) * 7))
    (sentence,) = twins.sentences([*twins.replaced(SUMS, twinned), choice_item("c")], twinned)
    assert sentence.startswith("8 of the 9 prompts of 'sums' are asked as choices (likelihood twins): the baseline")
    assert "wrote 1 of 8 right answers" in sentence
    assert "max_tokens" not in sentence
    assert twins.sentences([choice_item("c")], twinned) == ()


def test_the_sentence_says_when_wrong_answers_were_cut_by_their_limit() -> None:
    twinned = twins.decide(SUMS, scored(1, *(0,) * 7, cut=True))
    (sentence,) = twins.sentences(twins.replaced(SUMS, twinned), twinned)
    assert sentence.endswith("7 of its wrong ones were cut by `max_tokens`: raise it if they need more.")


def test_a_twin_is_an_item_that_the_likelihood_scorer_takes() -> None:
    twin = twins.twin_of(SUMS[0])
    assert twin is not None
    registry.scorer("likelihood").check(twin)
    assert twins.twin_of(twin) is None
