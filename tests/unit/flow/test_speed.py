"""What the trials of a run say together: ratios to the baseline, and the floor that its A/A control gives them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paredown.flow import speed
from paredown.flow.speed import LEAST_NOISE, Sides, Trials
from paredown.records.events import Block
from paredown.testing.scripted_events import block, request, trial

SIDES = Sides(None, None, None)


def trials(*gaps_ms: float) -> Trials:
    """A block a gap: one answer of eleven tokens, `gap_ms` apart."""
    made: list[Block] = [
        replace(block(request([100 + gap * i for i in range(11)])), index=index) for index, gap in enumerate(gaps_ms)
    ]
    return Trials((trial(*made),))


def floor(first: Trials, again: Trials) -> float:
    """The floor that a comparison of decode speeds gets, whatever is compared."""
    compared = speed.against_baseline(first, again, SIDES, in_turns=True, control=(first, again))
    return next(one.floor for one in compared if one.figure == "decode_speed")


def test_the_floor_is_what_the_control_differs_by_over_its_rounds() -> None:
    # Rounds of 1.10 and 1.00: their geometric mean, in whichever direction it is read.
    first, again = trials(110, 100), trials(100, 100)

    assert floor(first, again) == pytest.approx(1.1**0.5 - 1.0)
    assert floor(again, first) == pytest.approx(1.1**0.5 - 1.0)


def test_the_floor_is_never_below_two_percent() -> None:
    assert floor(trials(100, 101), trials(100, 101)) == LEAST_NOISE


def test_a_figure_without_a_control_has_the_smallest_floor() -> None:
    own, beside = trials(50, 50), trials(100, 100)
    void = Trials((replace(own.trials[0], void="sent late"),))
    (found,) = (
        one
        for one in speed.against_baseline(own, beside, SIDES, in_turns=True, control=(void, beside))
        if one.figure == "decode_speed"
    )

    assert (found.ratio, found.floor) == (pytest.approx(2.0), LEAST_NOISE)


def test_two_short_trials_differ_by_what_any_two_blocks_of_the_control_do() -> None:
    assert speed.noise_of_one_block(trials(100, 90), trials(108, 99)) == pytest.approx(108 / 90 - 1.0)
    assert speed.noise_of_one_block(trials(100), trials(100)) == LEAST_NOISE


def test_a_candidate_without_a_trial_has_no_ratios() -> None:
    control = (trials(100), trials(100))

    assert speed.against_baseline(None, control[0], SIDES, in_turns=False, control=control) == ()
    assert speed.against_baseline(control[0], None, SIDES, in_turns=True, control=control) == ()
