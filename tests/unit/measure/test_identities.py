"""What must hold between figures, whatever a server does, and what they are by the server's own list of its writes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paredown import registry
from paredown.contracts import Evidence
from paredown.measure import definitions, figures
from paredown.records import timing
from paredown.records.events import Trial
from paredown.records.figure import Figure, Samples
from tests.unit.measure.served import Truth, served, trial_of

QUICK = settings(max_examples=40, deadline=None)  # a shared machine has no deadline
LATENCIES = ("ttft", "ttft_sent", "itl", "tpot", "e2e")


def samples(name: str, trial: Trial) -> Samples:
    found = registry.metric(name).compute(Evidence(trial))
    assert isinstance(found, Samples)
    return found


def by_name(found: Sequence[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in found}


@QUICK
@given(served())
def test_gaps_add_up_to_the_time_between_the_first_and_the_last_write(block: tuple[Truth, ...]) -> None:
    for truth in block:
        between_s = (truth.token_ns[-1] - truth.token_ns[0]) / 1e9
        gaps = samples("itl", trial_of([truth])).values

        assert sum(gaps) == pytest.approx(between_s)
        assert len(gaps) == len(truth.token_ns) - truth.tokens_of_first_write


@QUICK
@given(served())
def test_the_whole_latency_is_the_first_token_and_the_gaps_after_it(block: tuple[Truth, ...]) -> None:
    for truth in block:
        alone = trial_of([truth])
        (whole,), (first,) = samples("e2e", alone).values, samples("ttft", alone).values

        assert whole == pytest.approx((truth.token_ns[-1] - truth.due_ns) / 1e9)
        assert first == pytest.approx((truth.token_ns[0] - truth.due_ns) / 1e9)
        assert whole == pytest.approx(first + sum(samples("itl", alone).values))


@QUICK
@given(served())
def test_the_time_per_token_times_the_tokens_after_the_first_write_is_the_time_between(
    block: tuple[Truth, ...],
) -> None:
    for truth in block:
        after_first = len(truth.token_ns) - truth.tokens_of_first_write
        values = samples("tpot", trial_of([truth])).values

        assert (len(values) == 1) == (after_first > 0)
        if after_first:
            assert values[0] * after_first == pytest.approx((truth.token_ns[-1] - truth.token_ns[0]) / 1e9)


@QUICK
@given(served())
def test_waiting_before_the_send_is_in_ttft_and_only_there(block: tuple[Truth, ...]) -> None:
    trial = trial_of(block)
    both = zip(samples("ttft", trial).values, samples("ttft_sent", trial).values, strict=True)

    for (due, sent), truth, delay in zip(both, block, samples("send_delay", trial).values, strict=True):
        assert due >= sent
        assert due - sent == pytest.approx((truth.sent_ns - truth.due_ns) / 1e9, abs=1e-9)
        assert delay == pytest.approx((truth.sent_ns - truth.due_ns) / 1e9)


@QUICK
@given(served(failures=True), st.integers(0, 3))
def test_throughput_times_the_window_is_the_tokens_that_were_written_in_it(
    block: tuple[Truth, ...], concurrency: int
) -> None:
    trial = trial_of(block, concurrency=concurrency)
    (events,) = trial.blocks
    for window in (timing.steady_window(events, concurrency), timing.whole_window(events)):
        assert window is not None
        assume(window.seconds > 0)
        rate = timing.output_rate(events, window)
        written = [at for truth in block if not truth.failed for at in truth.token_ns]

        assert rate is not None
        assert rate * window.seconds == pytest.approx(sum(window.start_ns <= at <= window.end_ns for at in written))


@QUICK
@given(served(failures=True), st.integers(0, 3))
def test_the_steady_window_lies_between_the_first_send_and_the_last_response(
    block: tuple[Truth, ...], concurrency: int
) -> None:
    window = timing.steady_window(trial_of(block).blocks[0], concurrency)

    assert window is not None
    assert min(t.sent_ns for t in block) <= window.start_ns <= window.end_ns <= max(t.token_ns[-1] for t in block)


@QUICK
@given(served(failures=True), st.integers(1, 500), st.integers(1, 2000))
def test_good_requests_are_those_whose_tokens_the_server_wrote_in_time(
    block: tuple[Truth, ...], ttft_ms: int, e2e_ms: int
) -> None:
    limits = {"ttft": ttft_ms / 1e3 + 1e-12, "e2e": e2e_ms / 1e3 + 1e-12}
    kept = sum(
        not truth.failed
        and truth.token_ns[0] - truth.due_ns <= ttft_ms * 1_000_000
        and truth.token_ns[-1] - truth.due_ns <= e2e_ms * 1_000_000
        for truth in block
    )
    found = registry.metric("good_fraction").compute(Evidence(trial_of(block), limits=limits))

    assert isinstance(found, Figure)
    assert found.value == pytest.approx(kept / len(block))


@QUICK
@given(st.lists(served(failures=True), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_the_order_of_requests_and_of_blocks_does_not_matter(blocks: list[tuple[Truth, ...]], chance: object) -> None:
    mixed = [list(block) for block in blocks]
    for block in (*mixed, mixed):
        chance.shuffle(block)  # type: ignore[attr-defined]  # a Random, whose type hypothesis does not give
    limits = {"ttft": 0.3}
    for name in definitions.SETS:
        before = by_name(definitions.compute(name, trial_of(*blocks), limits))
        after = by_name(definitions.compute(name, trial_of(*mixed), limits))

        assert before.keys() == after.keys()
        assert all(after[key].value == pytest.approx(figure.value) for key, figure in before.items())


@QUICK
@given(st.lists(served(), min_size=1, max_size=3))
def test_a_pooled_percentile_lies_within_the_samples(blocks: list[tuple[Truth, ...]]) -> None:
    trial = trial_of(*blocks)
    for name in LATENCIES:
        values = samples(name, trial).values
        for figure in figures.compute(Evidence(trial), [registry.metric(name)]):
            if figure.value is not None:
                assert min(values) * (1 - 1e-9) <= figure.value <= max(values) * (1 + 1e-9)


@QUICK
@given(served(one_token=True, waits=False))
def test_where_a_chunk_is_a_token_and_nothing_waits_all_three_agree(block: tuple[Truth, ...]) -> None:
    trial = trial_of(block)
    ours, vllm, aiperf = (by_name(definitions.compute(name, trial)) for name in ("ours", "vllm", "aiperf"))

    for name in ("ttft_mean", "ttft_p50", "e2e_mean", "e2e_p50", "tpot_mean", "tpot_p50", "itl_mean", "itl_p50"):
        assert vllm[name].value == pytest.approx(ours[name].value), name
    for name in ("ttft_mean", "ttft_p50", "e2e_mean", "e2e_p50"):
        assert aiperf[name].value == pytest.approx(ours[name].value), name
    assert aiperf["itl_mean"].value == pytest.approx(ours["tpot_mean"].value)
    assert aiperf["itl_p50"].value == pytest.approx(ours["tpot_p50"].value)


@QUICK
@given(served())
def test_vllm_takes_what_the_server_wrote_first_for_the_first_token(block: tuple[Truth, ...]) -> None:
    for truth in block:
        found = by_name(definitions.compute("vllm", trial_of([truth])))
        first = truth.token_ns[0] if truth.role_ns is None else truth.role_ns

        assert found["ttft_mean"].value == pytest.approx((first - truth.sent_ns) / 1e9)
        assert found["e2e_mean"].value == pytest.approx((truth.token_ns[-1] - truth.sent_ns) / 1e9)


@QUICK
@given(served())
def test_aiperf_spreads_the_time_after_the_first_write_over_all_tokens_but_one(block: tuple[Truth, ...]) -> None:
    for truth in block:
        found = by_name(definitions.compute("aiperf", trial_of([truth])))["itl_mean"].value
        tokens = len(truth.token_ns)

        assert (found is None) == (tokens < 2)
        if found is not None:
            assert found * (tokens - 1) == pytest.approx((truth.token_ns[-1] - truth.token_ns[0]) / 1e9)


@QUICK
@given(served())
def test_other_tools_divide_all_tokens_by_all_the_time(block: tuple[Truth, ...]) -> None:
    tokens = sum(len(truth.token_ns) for truth in block)
    end = max(truth.token_ns[-1] for truth in block)
    trial = trial_of(block)
    vllm, aiperf = (by_name(definitions.compute(name, trial))["output_throughput"].value for name in ("vllm", "aiperf"))

    assert vllm == pytest.approx(tokens / ((end - min(t.due_ns for t in block)) / 1e9))
    assert aiperf == pytest.approx(tokens / ((end - min(t.sent_ns for t in block)) / 1e9))
