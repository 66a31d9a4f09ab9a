"""Speed metrics against times that were worked out by hand from when the chunks were written down to arrive."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown import registry
from paredown.contracts import Evidence
from paredown.records.events import StartUp, Trial
from paredown.records.figure import Figure, Samples
from paredown.records.timing import e2e_s, itl_s, tpot_s, ttft_s
from paredown.testing.scripted_events import block, request, trial


def samples(name: str, measured: Trial | None) -> Samples:
    found = registry.metric(name).compute(Evidence(trial=measured))
    assert isinstance(found, Samples)
    return found


def figure(name: str, measured: Trial | None, price: float | None = None) -> Figure:
    found = registry.metric(name).compute(Evidence(trial=measured, price_usd_per_hour=price))
    assert isinstance(found, Figure)
    return found


LATE = request([130, 150, 190], due_ms=100, sent_ms=110)


def test_ttft_counts_from_when_the_request_was_due() -> None:
    assert samples("ttft", trial(block(LATE))).values == pytest.approx((0.030,))


def test_ttft_sent_counts_from_the_send() -> None:
    assert samples("ttft_sent", trial(block(LATE))).values == pytest.approx((0.020,))


def test_e2e_counts_from_due_to_the_last_token() -> None:
    assert samples("e2e", trial(block(LATE))).values == pytest.approx((0.090,))


def test_the_gap_before_a_bundled_chunk_is_shared_by_its_tokens() -> None:
    bundled = trial(block(request([10, 40, 50], tokens=[1, 3, 1])))

    assert samples("itl", bundled).values == pytest.approx((0.010, 0.010, 0.010, 0.010))
    assert "1.67 tokens a chunk" in samples("itl", bundled).note


def test_tpot_leaves_the_tokens_of_the_first_chunk_out() -> None:
    assert samples("tpot", trial(block(request([10, 40], tokens=[4, 3])))).values == pytest.approx((0.010,))


def test_tpot_of_an_answer_in_one_chunk_is_undefined_and_not_zero() -> None:
    one_chunk = samples("tpot", trial(block(request([10], tokens=[5]))))

    assert one_chunk.values == ()
    assert "one chunk" in one_chunk.missing


def test_decode_speed_is_the_median_over_requests() -> None:
    measured = trial(block(request([0, 100]), request([0, 50]), request([0, 20])))

    assert figure("decode_speed", measured).value == pytest.approx(20.0)


def test_decode_speed_of_answers_in_one_chunk_is_missing() -> None:
    assert figure("decode_speed", trial(block(request([10])))).value is None


def test_e2e_50_takes_answers_of_fifty_tokens_only() -> None:
    fifty, fewer = request([10, 900], tokens=[1, 49]), request([10, 100], tokens=[1, 48])

    assert samples("e2e_50", trial(block(fifty, fewer))).values == pytest.approx((0.900,))
    assert "50" in samples("e2e_50", trial(block(fewer))).missing


def test_throughput_leaves_ramp_and_drain_out() -> None:
    # Two in flight from 1,000 to 2,000 ms only: 10 tokens arrive then, of 14 in all.
    first = request([500, *range(1100, 1600, 100), 2000], due_ms=0, name="a")
    second = request([*range(1150, 1550, 100), 3000, 3500], due_ms=1000, name="b")
    measured = figure("output_throughput", trial(block(first, second), concurrency=2))

    assert measured.value == pytest.approx(10.0)
    assert "3.71429 tok/s from first send to last response" in measured.note


def test_throughput_of_a_single_stream_is_all_tokens_over_all_time() -> None:
    measured = trial(block(request([50, 100]), request([200, 400], due_ms=100, name="b")))

    assert figure("output_throughput", measured).value == pytest.approx(10.0)


def test_throughput_counts_no_tokens_of_failed_requests() -> None:
    failed = request([100, 200, 300], failure="disconnected", name="b")
    measured = figure("output_throughput", trial(block(request([500, 1000]), failed)))

    assert measured.value == pytest.approx(2.0)
    assert "1 of 2 requests failed (1 disconnected)" in measured.note


def test_throughput_is_the_median_over_blocks_with_their_range() -> None:
    blocks = [block(request([500, 1000 * seconds]), index=seconds) for seconds in (1, 2, 4)]
    measured = figure("output_throughput", trial(*blocks))

    assert (measured.value, measured.count) == (pytest.approx(1.0), 3)
    assert "blocks from 0.5 to 2" in measured.note


def test_cost_is_the_price_of_an_hour_over_its_tokens() -> None:
    measured = trial(block(request([500, 1000])))

    assert figure("cost", measured, price=7.2).value == pytest.approx(1000.0)
    assert "no price" in figure("cost", measured).missing


def test_startup_ends_when_ready_and_again_at_the_first_token() -> None:
    start = StartUp(loaded_ns=1, ready_ns=2_000_000_000, first_token_ns=3_500_000_000)
    measured = trial(block(request([1, 2]), startup=start))

    assert figure("startup", measured).value == pytest.approx(2.0)
    assert figure("startup_first_token", measured).value == pytest.approx(3.5)


def test_a_process_that_was_already_warm_has_no_startup() -> None:
    assert figure("startup", trial(block(request([1, 2])))).value is None


@pytest.mark.parametrize("name", ["ttft", "ttft_sent", "itl", "tpot", "e2e", "e2e_50"])
def test_a_trial_in_which_all_failed_has_no_latency_and_says_why(name: str) -> None:
    failed = samples(name, trial(block(request([], failure="refused"), request([5], failure="timeout"))))

    assert failed.values == ()
    assert failed.missing == "no request succeeded (1 refused, 1 timeout)"


@pytest.mark.parametrize("known", [True, False])
@given(
    gaps=st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 5)), min_size=1, max_size=20),
    due_ms=st.integers(0, 1000),
    ttft_ms=st.integers(0, 1000),
)
def test_the_gaps_add_up_to_what_lies_between(
    known: bool, gaps: list[tuple[int, int]], due_ms: int, ttft_ms: int
) -> None:
    arrivals, tokens = [float(due_ms + ttft_ms)], [1]
    for gap_ns, count in gaps:
        arrivals.append(arrivals[-1] + gap_ns / 1e6)
        tokens.append(count)
    measured = request(arrivals, tokens=tokens, due_ms=due_ms, ids_known=known)
    between = (measured.chunks[-1].arrived_ns - measured.chunks[0].arrived_ns) / 1e9
    per_token = tpot_s(measured)

    assert sum(itl_s(measured)) == pytest.approx(between)
    assert e2e_s(measured) == pytest.approx(ttft_s(measured) + sum(itl_s(measured)))
    assert len(itl_s(measured)) == measured.output_tokens - (1 if known else -(-measured.output_tokens // len(tokens)))
    assert per_token is not None
    assert per_token == pytest.approx(between / len(itl_s(measured)))


def test_without_ids_the_tokens_of_usage_are_spread_and_that_is_said() -> None:
    guessed = trial(block(request([10, 20, 30], output_tokens=7, ids_known=False)))

    assert len(samples("itl", guessed).values) == 4
    assert "estimated" in samples("itl", guessed).note


def test_the_tokens_of_one_stream_count_as_one_block_a_request() -> None:
    two = trial(block(request([0, 1, 2]), request([3, 4, 5])), block(request([0, 1]), index=1))

    assert samples("itl", two).blocks == (0, 0, 1, 1, 2)


def test_a_busy_machine_is_said_beside_the_figure() -> None:
    quiet = block(request([10, 20]))
    busy = trial(quiet, replace(quiet, index=1, background_load=0.4))

    assert "other processes kept up to 40% of the cores busy" in samples("ttft", busy).note
    assert samples("ttft", trial(quiet)).note == ""
