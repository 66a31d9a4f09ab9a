"""What rounds measured in turns say together, and which of them do not count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paredown import registry
from paredown.contracts import Evidence
from paredown.measure import interleave
from paredown.measure.rounds import against, disturbed
from paredown.records.events import Block, Trial
from paredown.records.verdict import AgainstBaseline
from paredown.testing.scripted_events import block, request, trial

DECODE = [registry.metric("decode_speed")]


def measured(*gaps_ms: float, loads: tuple[float | None, ...] = (), long: bool = True) -> Trial:
    """A block a gap: one answer of 21 tokens, `gap_ms` apart (or of 2, which is too short to tell its load)."""
    made = [
        replace(
            block(request([100 + gap * i for i in range(21 if long else 2)]), index=index),
            background_load=loads[index] if loads else 0.01,
        )
        for index, gap in enumerate(gaps_ms)
    ]
    return trial(*made)


def speed(own: Trial, beside: Trial, **more: object) -> AgainstBaseline:
    (found,) = against(Evidence(own), Evidence(beside), in_turns=True, metrics=DECODE, **more)  # type: ignore[arg-type]
    return found


def test_each_round_is_compared_by_itself() -> None:
    found = speed(measured(50, 100, 75), measured(100, 200, 150))

    assert (found.figure, found.rounds, found.in_turns) == ("decode_speed", 3, True)
    assert found.ratio == pytest.approx(2.0)
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))
    assert found.differs is True


def test_rounds_are_paired_by_their_number_and_not_by_their_place() -> None:
    own, beside = measured(50, 100, 75), measured(100, 200, 150)
    found = speed(replace(own, blocks=own.blocks[1:]), replace(beside, blocks=(beside.blocks[2], beside.blocks[1])))

    assert (found.rounds, found.ratio) == (2, pytest.approx(2.0))
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))


def test_a_round_that_others_disturbed_is_left_out_and_named() -> None:
    found = speed(measured(50, 50, 50, 50), measured(100, 100, 100, 60, loads=(0.01, 0.02, 0.01, 0.4)))

    assert (found.rounds, found.ratio) == (3, pytest.approx(2.0))
    assert found.note == "1 of 4 rounds met more load from other processes than the rest, and are left out"


def test_a_machine_that_is_always_busy_disturbs_no_round() -> None:
    assert disturbed(measured(50, 50, 50, loads=(0.5, 0.55, 0.45)).blocks) == frozenset()


def test_the_load_of_a_short_block_is_not_looked_at() -> None:
    blocks: tuple[Block, ...] = measured(50, 50, 50, 50, loads=(0.0, 0.0, 0.0, 0.9), long=False).blocks

    assert disturbed(blocks) == frozenset()


def test_a_load_that_is_not_known_disturbs_nothing() -> None:
    assert disturbed(measured(50, 50, 50, loads=(None, None, None)).blocks) == frozenset()


def test_with_one_quiet_round_all_of_them_count() -> None:
    found = speed(measured(50, 50, loads=(0.01, 0.5)), measured(100, 100))

    assert found.rounds == 2
    assert found.note.endswith("too few are left without them")


def test_a_difference_below_the_floor_is_none() -> None:
    own, beside = measured(100, 100, 100), measured(101.5, 101.5, 101.5)

    assert speed(own, beside).differs is True
    assert speed(own, beside, floors={"decode_speed": 0.02}).differs is False


def test_a_void_trial_is_compared_with_nothing() -> None:
    own = measured(50, 50)

    assert against(Evidence(replace(own, void="late")), Evidence(own), in_turns=True) == ()


def test_trials_that_were_not_in_turns_say_so_and_have_limits_from_five_blocks_on() -> None:
    few, many = measured(50, 51), measured(100, 101, 99, 100, 102)
    (one,) = against(Evidence(few), Evidence(many), in_turns=False, metrics=DECODE)
    (other,) = against(Evidence(measured(50, 51, 49, 50, 52)), Evidence(many), in_turns=False, metrics=DECODE)

    assert (one.low, one.high, one.rounds, one.note) == (None, None, 2, "not measured in turns")
    assert other.low is not None
    assert not other.in_turns


def test_disturbed_rounds_are_wanted_again_as_often_as_is_allowed() -> None:
    blocks = measured(50, 50, 50, 50, 50, loads=(0.0, 0.4, 0.0, 0.4, 0.0)).blocks

    assert [interleave.rounds_wanted(blocks, 5, again) for again in (0, 1, 2, 3)] == [5, 6, 7, 7]
