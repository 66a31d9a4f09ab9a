"""Metrics of a server under load, against what was worked out by hand from when requests were due and answered."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from paredown import registry
from paredown.contracts import Evidence
from paredown.records.events import RequestEvents, Trial
from paredown.records.figure import Figure, Samples
from paredown.records.timing import steady_window
from paredown.testing.scripted_events import block, request, trial


def figure(name: str, measured: Trial | None, limits: Mapping[str, float] | None = None) -> Figure:
    found = registry.metric(name).compute(Evidence(measured, limits=limits or {}))
    assert isinstance(found, Figure)
    return found


def answers(count: int, *, every_ms: float, ttft_ms: float = 20, last_ms: float = 90) -> list[RequestEvents]:
    """An open loop below saturation: one request every `every_ms`, none of which waits."""
    return [
        request([due + ttft_ms, due + last_ms], due_ms=due, name=f"r{i}")
        for i, due in ((i, i * every_ms) for i in range(count))
    ]


def test_goodput_counts_requests_that_kept_every_limit() -> None:
    # Four answers in 400 ms: one with a late first token, one with slow tokens.
    measured = trial(
        block(
            request([20, 100], name="good"),
            request([160, 200], due_ms=100, name="late"),
            request([220, 300], due_ms=200, name="slow"),
            request([320, 360], due_ms=300, name="good too"),
        )
    )

    assert figure("goodput", measured, {"ttft": 0.05}).value == pytest.approx(3 / 0.36)
    assert figure("goodput", measured, {"ttft": 0.05, "tpot": 0.06}).value == pytest.approx(1 / 0.36)
    assert figure("goodput", measured, {"ttft": 0.05, "tpot": 0.09}).value == pytest.approx(3 / 0.36)


def test_a_limit_that_is_just_kept_is_kept() -> None:
    measured = trial(block(request([50, 100])))

    assert figure("good_fraction", measured, {"ttft": 0.050, "e2e": 0.100}).value == 1.0
    assert figure("good_fraction", measured, {"ttft": 0.050, "e2e": 0.0999}).value == 0.0


def test_waiting_before_the_send_breaks_a_limit_on_ttft() -> None:
    waited = trial(block(request([210, 220], due_ms=0, sent_ms=200)))

    assert figure("good_fraction", waited, {"ttft": 0.1}).value == 0.0
    assert figure("good_fraction", waited, {"ttft_sent": 0.1}).value == 1.0


def test_the_good_fraction_has_failures_in_its_denominator() -> None:
    measured = trial(
        block(request([10, 20]), request([], failure="status_500"), request([900, 910]), request([10, 15]))
    )
    found = figure("good_fraction", measured, {"ttft": 0.1})

    assert found.value == pytest.approx(0.5)
    assert (found.count, found.note) == (4, "2 of 4 requests, failures counted")


def test_the_limits_of_a_good_fraction_stay_within_nothing_and_all() -> None:
    found = figure("good_fraction", trial(block(*answers(9, every_ms=100), request([900, 901]))), {"ttft": 0.1})

    assert found.low is not None
    assert (found.low > 0.5, found.high) == (True, 1.0)


def test_a_failed_request_is_never_good_though_its_tokens_came_in_time() -> None:
    measured = trial(block(request([10, 20], failure="truncated"), request([110, 120], due_ms=100)))

    assert figure("good_fraction", measured, {"ttft": 1.0}).value == pytest.approx(0.5)


def test_an_answer_in_one_chunk_breaks_no_limit_on_the_time_per_token() -> None:
    assert figure("good_fraction", trial(block(request([10]))), {"tpot": 0.001}).value == 1.0


def test_a_limit_on_fifty_tokens_concerns_only_answers_of_fifty_tokens() -> None:
    measured = trial(block(request([10, 900]), request([10, 900], tokens=[1, 49])))

    assert figure("good_fraction", measured, {"e2e_50": 0.5}).value == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["goodput", "good_fraction"])
def test_without_a_limit_nothing_is_good_or_bad(name: str) -> None:
    found = figure(name, trial(block(request([10, 20]))))

    assert found.value is None
    assert "no latency target" in found.missing


def test_goodput_has_a_block_in_which_all_failed_as_zero_and_not_as_unknown() -> None:
    fine, broken = block(request([500, 1000])), block(request([], failure="refused"), index=1)

    assert figure("goodput", trial(fine, broken), {"ttft": 1.0}).value == pytest.approx(0.5)
    assert figure("request_throughput", trial(fine, broken)).value == pytest.approx(0.5)
    assert figure("output_throughput", trial(fine, broken)).value == pytest.approx(1.0)


def test_request_throughput_leaves_ramp_and_drain_out() -> None:
    # A closed loop of two: a and b from 0, c from 1,000, d from 1,500 on; drained from 2,000 on.
    measured = trial(
        block(
            request([500, 1000], name="a"),
            request([500, 1500], name="b"),
            request([1600, 2000], due_ms=1000, name="c"),
            request([1800, 4000], due_ms=1500, name="d"),
        ),
        concurrency=2,
    )
    found = figure("request_throughput", measured)

    assert found.value == pytest.approx(3 / 2.0)
    assert "1 req/s from first send to last response" in found.note


def test_the_peak_of_an_open_loop_is_not_taken_for_its_steady_state() -> None:
    # 10 requests/s of 90 ms each; once two more come at the same moment, so that three are in flight for 90 ms.
    crowd = [request([520, 590], due_ms=500, name=f"crowd {i}") for i in range(2)]
    measured = block(*answers(20, every_ms=100), *crowd)
    window = steady_window(measured, 3)

    assert window is not None
    assert (window.start_ns, window.end_ns) == (0, 1_990_000_000)
    assert figure("request_throughput", trial(measured, concurrency=3)).value == pytest.approx(22 / 1.99)


def test_the_ramp_of_an_open_loop_with_a_standing_load_is_cut_off() -> None:
    # Due every 100 ms and answered in 450 ms: four or five in flight, from 300 ms on.
    measured = block(*answers(30, every_ms=100, last_ms=450))
    window = steady_window(measured, 5)

    assert window is not None
    assert window.start_ns in (300_000_000, 400_000_000)
    assert 2_900_000_000 <= window.end_ns <= 3_100_000_000
    assert figure("request_throughput", trial(measured, concurrency=5)).value == pytest.approx(10.0, rel=0.05)


def test_send_delay_is_how_late_the_client_was_for_failed_requests_as_well() -> None:
    failed = request([], due_ms=50, sent_ms=80, failure="refused")
    found = registry.metric("send_delay").compute(Evidence(trial(block(request([30, 40], sent_ms=5), failed))))

    assert isinstance(found, Samples)
    assert found.values == pytest.approx((0.005, 0.030))


def test_the_hit_rate_is_of_prompt_tokens_and_not_of_requests() -> None:
    long = request([1, 2], cached_tokens=90, prompt_tokens=90)
    measured = trial(block(long, request([1, 2], cached_tokens=0, prompt_tokens=10)))

    assert figure("prefix_cache_hit_rate", measured).value == pytest.approx(0.9)


def test_a_server_that_does_not_say_what_it_cached_has_no_hit_rate() -> None:
    silent = figure("prefix_cache_hit_rate", trial(block(request([1, 2]))))

    assert silent.value is None
    assert "does not say" in silent.missing
    assert figure("prefix_cache_hit_rate", trial(block(request([1, 2], cached_tokens=0)))).value == 0.0


def test_a_hit_rate_of_some_of_the_requests_says_of_how_many() -> None:
    some = trial(block(request([1, 2], cached_tokens=5), request([1, 2])))

    assert "1 of 2 requests" in figure("prefix_cache_hit_rate", some).note


def test_three_good_requests_of_three_do_not_prove_that_all_are_good() -> None:
    found = figure("good_fraction", trial(block(*answers(3, every_ms=100))), {"ttft": 0.1})

    assert found.value == 1.0
    assert found.low == pytest.approx(0.05 ** (1 / 3))
