"""The baseline's own answers show which slices protect nothing."""

from __future__ import annotations

from paredown.evaluate.audit import baseline_answers
from paredown.records.golden import Answer, Evaluation, Score


def evaluation(*scored: tuple[str, float | None], finish: str = "", why: str = "") -> Evaluation:
    answers = tuple(Answer(name, finish_reason=finish) for name, _ in scored)
    scores = tuple(Score(name, value, why if value is None else "") for name, value in scored)
    return Evaluation("baseline", "all", {}, answers, scores, 0, 0, 0.0)


def kinds(items, *evaluations, chance: float | None = 0.5):
    return {one.kind: one for one in baseline_answers.find(items, evaluations, lambda _: chance)}


def test_a_slice_on_which_the_baseline_guesses_protects_nothing(item) -> None:
    items = [item(f"i{n}", choices=("x", "y")) for n in range(20)]
    guessing = evaluation(*((f"i{n}", float(n % 2)) for n in range(20)))
    found = kinds(items, guessing)["slice at chance"]
    assert (found.slice, found.items) == ("s", ())
    assert "scores 50 % of 20 items where guessing gives 50 %" in found.sentence
    knowing = evaluation(*((f"i{n}", float(n > 2)) for n in range(20)))
    assert kinds(items, knowing) == {}
    assert kinds(items, guessing, chance=None) == {}


def test_both_splits_count_together(item) -> None:
    items = [item(f"i{n}") for n in range(8)]
    parts = [evaluation(*((f"i{n}", 1.0) for n in half)) for half in (range(4), range(4, 8))]
    assert set(kinds(items, parts[0])) == {"slice at chance"}
    assert kinds(items, *parts) == {}


def test_graded_scores_are_held_against_guessing_too(item) -> None:
    items = [item(f"i{n}") for n in range(6)]
    assert set(kinds(items, evaluation(*((f"i{n}", 0.5 + (n % 2 - 0.5) / 9) for n in range(6))))) == {"slice at chance"}
    assert kinds(items, evaluation(*((f"i{n}", 0.8 + n / 100) for n in range(6)))) == {}


def test_answers_that_the_limit_cut_and_that_are_not_right_are_counted(item) -> None:
    items = [item(f"i{n}") for n in range(10)]
    cut = evaluation(("i0", 0.0), ("i1", 1.0), finish="length")
    whole = evaluation(*((f"i{n}", 1.0) for n in range(2, 10)), finish="stop")
    found = kinds(items, cut, whole, chance=None)["answers cut"]
    assert (found.items, found.slice) == (("i0",), "s")
    assert "10 % of the baseline's written answers" in found.sentence
    assert "limit of 32 tokens" in found.sentence
    right = evaluation(("i0", 1.0), ("i1", 1.0), finish="length")
    assert kinds(items, right, whole, chance=None) == {}


def test_items_without_a_score_are_listed_by_reason(item) -> None:
    items = [item("a"), item("b"), item("c")]
    found = baseline_answers.find(
        items,
        [evaluation(("a", None), ("b", None), why="too long"), evaluation(("c", None), why="no answer")],
        lambda _: None,
    )
    assert [(one.kind, one.items) for one in found] == [("not scored", ("a", "b")), ("not scored", ("c",))]
    assert "no candidate is judged on them: too long" in found[0].sentence
