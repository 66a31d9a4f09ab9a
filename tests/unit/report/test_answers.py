from hypothesis import given
from hypothesis import strategies as st

from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.report import answers
from paredown.report.view import AnswerView, WorstAnswer


def joined(part):
    return part.same + part.different + part.rest


@given(st.text("ab \n", max_size=40), st.text("ab \n", max_size=40))
def test_marking_loses_nothing_and_starts_at_the_word_that_differs(left, right):
    a, b = answers.mark_difference(left, right)
    assert (joined(a), joined(b)) == (left, right)
    assert a.same == b.same
    if left != right:
        assert (a.different, a.rest) != (b.different, b.rest)


def test_the_first_word_that_differs_is_marked():
    a, b = answers.mark_difference("36 eggs minus 5 is 31.", "36 eggs plus 5 is 41.")
    assert (a.same, a.different, b.different) == ("36 eggs ", "minus", "plus")


def test_an_answer_that_ends_early_has_the_rest_of_the_other_marked():
    a, b = answers.mark_difference("one two", "one")
    assert (a.same, a.different + a.rest) == ("", "one two")
    assert (b.same, b.different + b.rest) == ("", "one")


def test_the_difference_is_shown_however_far_into_a_long_answer():
    long = "word " * 2000
    a, b = answers.mark_difference(long + "left", long + "right")
    assert (a.different, b.different) == ("left", "right")
    assert len(a.same) < 2 * answers.LONGEST_TEXT
    assert a.cut > 0


def test_a_likelihood_item_shows_the_log_probability_of_each_choice():
    item = GoldenItem("i", "s", "choice", (Message("user", "q"),), "1", ("no", "yes"))
    worst = WorstAnswer(
        "c", item, AnswerView(choice_logprobs=(-2.0, -1.0), score=1.0), AnswerView(choice_logprobs=(-1.0,), score=0.0)
    )
    pair = answers.pair(worst)
    assert pair.expected == "yes"
    assert [(c.text, c.right, c.baseline, c.candidate) for c in pair.choices] == [
        ("no", False, "-2.00", "-1.00"),
        ("yes", True, "-1.00", "not measured"),
    ]


def test_an_answer_that_failed_or_was_not_scored_says_so():
    item = GoldenItem("i", "s", "exact", (Message("user", "q"),), "x")
    pair = answers.pair(WorstAnswer("c", item, AnswerView("x", score=1.0), AnswerView(failure="timeout")))
    assert (pair.baseline_score, pair.score) == ("right", "not scored (timeout)")
    assert "timeout" in joined(pair.answer)


def test_a_long_prompt_is_cut_and_says_by_how_much():
    item = GoldenItem("i", "s", "exact", (Message("user", "p" * 5000),), "x")
    pair = answers.pair(WorstAnswer("c", item, AnswerView("a"), AnswerView("b")))
    assert len(pair.prompt) + pair.prompt_cut == 5000
    assert pair.prompt_cut > 0
