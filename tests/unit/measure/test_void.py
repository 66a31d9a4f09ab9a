"""A run is void when the load was not the one asked for, and not when the server was slow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paredown.measure.void import reason
from paredown.testing.scripted_events import request


def test_a_slow_server_is_no_reason() -> None:
    assert reason([[request([60_000, 120_000])]], forced_lengths=True) == ""


def test_failed_requests_are_no_reason() -> None:
    assert reason([[request([5], failure="timeout")]], forced_lengths=True) == ""


@pytest.mark.parametrize(("late_ms", "is_void"), [(9.9, False), (10.1, True)])
def test_without_a_target_a_send_may_be_ten_milliseconds_late(late_ms: float, is_void: bool) -> None:
    assert bool(reason([[request([50, 60], sent_ms=late_ms)]], forced_lengths=True)) is is_void


@pytest.mark.parametrize(("late_ms", "is_void"), [(4.9, False), (5.1, True)])
def test_with_a_target_a_send_may_be_late_by_five_percent_of_it(late_ms: float, is_void: bool) -> None:
    late = [[request([50, 60], sent_ms=late_ms)]]

    assert bool(reason(late, forced_lengths=True, ttft_target_s=0.1)) is is_void


@pytest.mark.parametrize(("late_of_200", "is_void"), [(2, False), (3, True)])
def test_one_percent_of_the_sends_may_be_late(late_of_200: int, is_void: bool) -> None:
    sends = [request([90_000], due_ms=i * 10, sent_ms=i * 10 + (15 if i < late_of_200 else 0)) for i in range(200)]

    assert bool(reason([sends], forced_lengths=True, ttft_target_s=None)) is is_void


def test_a_client_that_sends_at_a_lower_rate_than_was_due_is_a_reason() -> None:
    stretched = [request([2000, 2100], due_ms=i * 10, sent_ms=i * 10.3) for i in range(40)]

    assert "97.1% of the rate" in reason([stretched], forced_lengths=True)


def test_a_burst_that_took_a_few_milliseconds_to_send_is_no_reason() -> None:
    assert reason([[request([50, 60], due_ms=0, sent_ms=i * 0.3) for i in range(16)]], forced_lengths=True) == ""


def test_a_wrong_length_is_a_reason_where_lengths_are_forced() -> None:
    short = [[replace(request([10, 20]), wanted_tokens=9)]]

    assert "2 tokens instead of 9" in reason(short, forced_lengths=True)
    assert reason(short, forced_lengths=False) == ""


@pytest.mark.parametrize(("cached", "is_void"), [(64, False), (64 + 99, False), (64 + 101, True)])
def test_prompts_from_a_cache_are_a_reason_beyond_the_template(cached: int, is_void: bool) -> None:
    warm = [[request([10, 20], cached_tokens=cached, prompt_tokens=1000)]]

    assert ("prefix cache" in reason(warm, forced_lengths=True)) is is_void


@pytest.mark.parametrize(("cached", "is_void"), [(1000 - 64 - 99, False), (1000 - 64 - 101, True), (30, True)])
def test_a_warm_trial_whose_prompts_were_not_cached_is_void(cached: int, is_void: bool) -> None:
    told = [[request([10, 20], cached_tokens=cached, prompt_tokens=1000)]]

    assert bool(reason(told, forced_lengths=True, cache="warm")) is is_void


def test_a_cold_cache_in_a_warm_trial_is_told_with_its_share() -> None:
    told = [[request([10, 20], cached_tokens=30, prompt_tokens=1000)]]

    assert reason(told, forced_lengths=True, cache="warm") == (
        "The trial was to run warm, and 3% of the prompt tokens came from a prefix cache."
    )


def test_a_short_prompt_may_miss_its_last_page() -> None:
    assert reason([[request([10, 20], cached_tokens=0, prompt_tokens=40)]], forced_lengths=True, cache="warm") == ""


def test_a_server_that_does_not_tell_makes_no_trial_void() -> None:
    silent = [[request([10, 20], prompt_tokens=1000)]]

    assert [reason(silent, forced_lengths=True, cache=cache) for cache in ("cold", "warm", "shared")] == ["", "", ""]


@pytest.mark.parametrize("cached", [0, 1000])
def test_a_shared_cache_is_never_a_reason(cached: int) -> None:
    told = [[request([10, 20], cached_tokens=cached, prompt_tokens=1000)]]

    assert reason(told, forced_lengths=True, cache="shared") == ""


def test_a_load_that_was_cut_short_is_a_reason() -> None:
    sent = [[request([10, 20]), request([10, 20])]]

    assert reason(sent, forced_lengths=True, wanted=2) == ""
    assert reason(sent, forced_lengths=True, wanted=1_200) == ("The load was cut short: 2 of 1,200 requests were sent.")


def test_a_short_schedule_may_stretch_by_what_one_request_may_be_late() -> None:
    burst = [request([5000, 5100], due_ms=i * 10, sent_ms=i * 10 + (40 if i == 5 else 0)) for i in range(6)]

    assert reason([burst], forced_lengths=True, ttft_target_s=1.0) == ""
    assert "sent at" in reason([burst], forced_lengths=True, ttft_target_s=0.1)


def test_blocks_of_one_request_have_no_rate() -> None:
    blocks = [[request([50, 60], due_ms=i * 1000, sent_ms=i * 1000 + 5)] for i in range(4)]

    assert reason(blocks, forced_lengths=True) == ""


def test_a_burst_of_arrivals_that_all_left_in_time_is_no_reason() -> None:
    due = [0, 0.1, 0.2, 0.2, 700, 700.1, 2500]
    blocks = [[request([9000], due_ms=at, sent_ms=at + 1 + i % 3) for i, at in enumerate(due)]]

    assert reason(blocks, forced_lengths=True) == ""


def test_a_closed_loop_is_due_when_it_is_sent() -> None:
    loop = [request([at + 50, at + 90], due_ms=at, sent_ms=at + 0.3) for at in (0, 400, 5000, 5100)]

    assert reason([loop], forced_lengths=True) == ""


def test_a_request_that_was_tried_again_counts_from_its_first_sending() -> None:
    again = [[replace(request([9000, 9100], due_ms=0, sent_ms=2), attempts=3)]]

    assert reason(again, forced_lengths=True) == ""
