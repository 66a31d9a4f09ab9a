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
