"""The gate of answer lengths rejects what stops early or runs on, and waits where it cannot tell."""

from __future__ import annotations

import dataclasses
import math

import pytest

from paredown.decide import lengths
from paredown.decide.gates import Outcome
from paredown.records.lengths import LengthRatio
from paredown.records.verdict import Verdict
from paredown.spec.schema import LengthLimits

LIMITS = LengthLimits()
SHIPS = Outcome(Verdict.SHIP, ("All prompts: fine.",))


def found(ratio: float, half_width: float = 0.1, answers: int = 20, **changes: object) -> LengthRatio:
    made = LengthRatio(
        answers, 0, answers, answers, 1000, round(1000 * ratio), ratio,
        ratio * math.exp(-half_width), ratio * math.exp(half_width), half_width, answers, answers, 0, 0, 0, 0,
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def judge(ratio: LengthRatio) -> lengths.LengthVerdict:
    return lengths.judge(ratio, LIMITS)


def test_as_long_as_the_baseline_ships() -> None:
    assert judge(found(1.02)).verdict is Verdict.SHIP


def test_stopping_early_rejects_and_says_so() -> None:
    given = judge(found(0.5))
    assert given.verdict is Verdict.REJECT
    assert given.reason.startswith("Stops early: 50 % of the baseline's tokens on 20 answers (45.2 % to 55.3 %")


def test_running_on_rejects_with_its_loops() -> None:
    given = judge(found(1.9, candidate_ended=3, candidate_loops=11))
    assert given.verdict is Verdict.REJECT
    assert given.reason.startswith("Runs on: 190 %")
    assert "ends 3 of 20 by itself, baseline 20; 11 end in a loop (baseline 0)" in given.reason


def test_answers_that_no_longer_end_reject_though_the_limit_hides_how_long_they_would_be() -> None:
    given = judge(found(1.2, candidate_ended=8, end_lost=12))
    assert given.verdict is Verdict.REJECT
    assert given.reason.startswith("Runs on: ends 8 of 20 answers by itself, the baseline 20")
    assert judge(found(1.2, candidate_ended=16, end_lost=4)).verdict is Verdict.SHIP


@pytest.mark.parametrize("ratio", [0.63, 0.72, 1.42, 1.6])
def test_an_interval_across_a_limit_cannot_be_told_yet_and_says_how_many_more(ratio: float) -> None:
    given = judge(found(ratio, 0.2))
    assert given.verdict is Verdict.INVESTIGATE
    assert "more prompts with written answers would tell" in given.reason


def test_twice_as_near_to_the_limit_takes_four_times_the_answers() -> None:
    # log(1.5) = 0.405: at ratio 1 the interval must shrink from 0.81 to 0.4 of the logarithm.
    assert "About 58 more" in judge(found(1.0, 2 * math.log(1 / 0.67) * 0.986, answers=20)).reason


def test_few_answers_judge_nothing_and_block_nothing() -> None:
    given = judge(found(0.5, answers=7))
    assert given.verdict is None
    assert "Only 7 written answers" in given.reason
    assert lengths.decide(SHIPS, given) is SHIPS


def test_no_written_answer_is_said() -> None:
    empty = LengthRatio(0, 0, 0, 0, 0, 0, None, None, None, None, 0, 0, 0, 0, 0, 0)
    assert "No prompt asks for a written answer" in judge(empty).reason


def test_only_empty_answers_reject() -> None:
    given = judge(dataclasses.replace(found(1.0), ratio=0.0, low=None, high=None, half_width=None))
    assert (given.verdict, given.reason) == (Verdict.REJECT, "Stops early: all 20 answers are empty.")


def test_the_stricter_of_slices_and_lengths_decides_and_equal_ones_give_both_reasons() -> None:
    early, unsure, fine = judge(found(0.4)), judge(found(0.7, 0.2)), judge(found(1.0))
    assert lengths.decide(SHIPS, fine) is SHIPS
    assert lengths.decide(SHIPS, unsure).verdict is Verdict.INVESTIGATE
    stopped = lengths.decide(SHIPS, early)
    assert stopped.verdict is Verdict.REJECT
    assert stopped.reasons[0].startswith("Answer length: Stops early")
    rejected = Outcome(Verdict.REJECT, ("Russian: worse.",))
    assert lengths.decide(rejected, unsure) is rejected
    assert lengths.decide(rejected, early).reasons == ("Russian: worse.", *stopped.reasons)
