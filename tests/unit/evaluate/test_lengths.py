"""Lengths of answers in pairs: what counts and what does not."""

from __future__ import annotations

from paredown.evaluate import lengths
from paredown.records.golden import Answer, Evaluation, GoldenItem


def item(name: str, cluster: str = "") -> GoldenItem:
    return GoldenItem(name, "s", "exact_match", (), "", cluster=cluster)


def evaluation(**answers: Answer) -> Evaluation:
    return Evaluation("c", "all", {}, tuple(answers.values()), (), 0, 0, 0.0)


def written(name: str, tokens: int, reason: str = "stop", failure: str = "", looped: bool = False) -> Answer:
    ids = (7,) * tokens if looped else tuple(range(tokens))
    return Answer(name, "x", ids, reason, failure=failure)


def test_the_ratio_is_that_of_all_tokens_of_answers_not_cut_on_both_sides() -> None:
    before = evaluation(a=written("a", 10), b=written("b", 30), c=written("c", 32, "length"))
    after = evaluation(a=written("a", 5), b=written("b", 25), c=written("c", 32, "length"))
    found = lengths.compare(before, after, [item("a"), item("b"), item("c")])
    assert (found.answers, found.both_cut, found.compared) == (3, 1, 2)
    assert (found.baseline_tokens, found.candidate_tokens, found.ratio) == (40, 30, 0.75)


def test_choices_and_failed_requests_are_in_no_pair() -> None:
    before = evaluation(a=written("a", 10), b=Answer("b", choice_logprobs=(-1.0,), choice_tokens=(1,)))
    after = evaluation(
        a=written("a", 10, failure="timeout"), b=Answer("b", choice_logprobs=(-1.0,), choice_tokens=(1,))
    )
    assert lengths.compare(before, after, [item("a"), item("b")]).answers == 0


def test_items_of_one_document_are_one_unit() -> None:
    before = evaluation(a=written("a", 10), b=written("b", 10), c=written("c", 10))
    found = lengths.compare(before, before, [item("a", "one"), item("b", "one"), item("c")])
    assert (found.compared, found.units) == (3, 2)


def test_answers_that_ran_into_the_limit_and_loops_are_counted_by_side() -> None:
    before = evaluation(a=written("a", 10), b=written("b", 32, "length"))
    after = evaluation(a=written("a", 32, "length", looped=True), b=written("b", 9))
    found = lengths.compare(before, after, [item("a"), item("b")])
    assert (found.baseline_ended, found.candidate_ended, found.end_lost, found.end_gained) == (1, 1, 1, 1)
    assert (found.baseline_loops, found.candidate_loops) == (0, 1)


def test_a_candidate_that_says_nothing_has_the_ratio_zero_and_no_limits() -> None:
    found = lengths.compare(evaluation(a=written("a", 10)), evaluation(a=written("a", 0)), [item("a")])
    assert (found.ratio, found.low) == (0.0, None)
