"""What is told beside the figures of a trial, and how the load of a block is chosen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paredown.measure import trial_notes
from paredown.measure.trial import TrialSettings, assemble, requests_of_block
from paredown.records.events import Block, Trial
from paredown.records.traffic import Message, Traffic, TrafficRequest
from paredown.testing.scripted_events import block, request

ONE = Traffic("one", "", "single_stream", (TrafficRequest("r", (Message("user", "hi"),), 2),))


def measured(*, cached: int | None = None, wanted: int = 2, attempts: int = 1, **more: object) -> Block:
    events = replace(request([10, 20], cached_tokens=cached), wanted_tokens=wanted, attempts=attempts)
    return replace(block(events), **more)  # type: ignore[arg-type]


def put_together(traffic: Traffic, *blocks: Block) -> Trial:
    (made,) = assemble("a", [traffic], {one.index: {traffic.name: one} for one in blocks}, TrialSettings())
    return made


def test_what_was_done_to_the_requests_comes_first() -> None:
    clipped = replace(ONE, notes=("3 requests were clipped",))

    assert trial_notes.of(clipped, [measured()]) == ("3 requests were clipped",)


def test_what_held_the_processor_back_is_told_with_its_block() -> None:
    blocks = [measured(note="throttled"), replace(measured(), index=1)]

    assert trial_notes.of(ONE, blocks) == ("block 1: throttled",)


def test_background_load_is_told_with_the_number_of_blocks() -> None:
    blocks = [measured(background_load=load) for load in (0.05, 0.31, 0.12)]

    assert trial_notes.of(ONE, blocks) == ("other processes kept up to 31% of the cores busy in 2 of 3 blocks",)


def test_lengths_that_could_not_be_forced_make_a_note_and_no_void_trial() -> None:
    free = measured(wanted=9, note=f"throttled; {trial_notes.NOT_FORCED}")
    found = put_together(ONE, free)

    assert found.void == ""
    assert found.notes == ("throttled", trial_notes.NOT_FORCED, "1 of 1 answers had another length than wanted")
    assert "forced length" in put_together(ONE, measured(wanted=9)).void


def test_what_a_server_does_not_take_is_told_once_and_not_by_block() -> None:
    blocks = [replace(measured(note=trial_notes.NOT_FORCED), index=index) for index in range(3)]

    assert trial_notes.of(ONE, blocks) == (trial_notes.NOT_FORCED,)


def test_a_warm_cache_of_which_the_server_does_not_tell_is_a_note() -> None:
    warm = replace(ONE, cache="warm")

    assert "does not tell" in put_together(warm, measured()).notes[0]
    assert put_together(warm, measured(cached=10)).notes == ()
    assert put_together(warm, measured()).cache == "warm"


def test_requests_that_were_sent_more_than_once_are_counted() -> None:
    assert trial_notes.of(ONE, [measured(attempts=2), measured()]) == ("1 of 2 requests were sent more than once",)


def test_the_most_requests_computed_together_is_that_of_any_block() -> None:
    blocks = [replace(measured(batching_seen=seen), index=i) for i, seen in enumerate((2, 5, None))]

    assert put_together(ONE, *blocks).batching_seen == 5
    assert put_together(ONE, measured()).batching_seen is None


def test_a_block_with_fewer_requests_than_its_load_makes_the_trial_void() -> None:
    two = replace(ONE, requests=(ONE.requests[0], replace(ONE.requests[0], id="s")))

    assert put_together(two, measured()).void == "The load was cut short: 1 of 2 requests were sent."


# ── open loops ───────────────────────────────────────────────────────────────────────────────────────────────────


def replayed(*at_s: float) -> Traffic:
    return Traffic(
        "trace",
        "",
        "replay",
        tuple(TrafficRequest(f"r{i}", (Message("user", "hi"),), 2, at_s=at) for i, at in enumerate(at_s)),
    )


def sizes(traffic: Traffic, settings: TrialSettings, blocks: int) -> list[int]:
    return [len(requests_of_block(traffic, settings, index)) for index in range(blocks)]


def test_a_block_of_an_open_loop_is_half_a_minute_of_its_schedule() -> None:
    traffic = replayed(*range(100))

    assert sizes(traffic, TrialSettings(requests_per_block=4), 3) == [30, 30, 40]


def test_blocks_of_an_open_loop_go_round_without_leaving_the_order_of_the_schedule() -> None:
    traffic = replayed(*range(100))
    first, fourth = (requests_of_block(traffic, TrialSettings(requests_per_block=4), index) for index in (0, 3))

    assert [r.id for r in first] == [r.id for r in fourth] == [f"r{i}" for i in range(30)]


@pytest.mark.parametrize(("at_s", "expected"), [((0, 40, 80, 120, 160), [5]), (range(20), [20])])
def test_a_slice_of_an_open_loop_has_at_least_the_requests_asked_for(at_s: range, expected: list[int]) -> None:
    assert sizes(replayed(*at_s), TrialSettings(requests_per_block=4), 1) == expected


def test_every_fresh_process_gets_the_whole_schedule_when_no_number_is_given() -> None:
    assert sizes(replayed(*range(100)), TrialSettings(), 2) == [100, 100]
