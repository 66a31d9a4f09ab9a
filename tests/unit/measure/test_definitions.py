"""Where the tools differ, on answers that were written down by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from paredown.errors import UnknownNameError
from paredown.measure import definitions
from paredown.records.events import Trial
from paredown.records.figure import Figure
from paredown.testing.scripted_events import MS, block, request, trial


def figures(name: str, measured: Trial, limits: Mapping[str, float] | None = None) -> dict[str, Figure]:
    return {figure.name: figure for figure in definitions.compute(name, measured, limits)}


# Due at 0, sent at 10: a role-only event at 20, four tokens at 60, one at 90, then usage at 91.
ROLE_FIRST = trial(block(replace(request([60, 90], tokens=[4, 1], sent_ms=10), empty_ns=(20 * MS, 91 * MS))))


@pytest.mark.parametrize(("name", "ttft_s"), [("ours", 0.060), ("vllm", 0.010), ("aiperf", 0.050)])
def test_three_tools_three_times_to_the_first_token(name: str, ttft_s: float) -> None:
    assert figures(name, ROLE_FIRST)["ttft_p50"].value == pytest.approx(ttft_s)


@pytest.mark.parametrize(("name", "gaps"), [("ours", [0.030]), ("vllm", [0.040, 0.030]), ("aiperf", [0.030 / 4])])
def test_three_tools_three_gaps(name: str, gaps: list[float]) -> None:
    found = figures(name, ROLE_FIRST)["itl_mean"]

    assert found.value == pytest.approx(sum(gaps) / len(gaps))


@pytest.mark.parametrize(("name", "tpot_s"), [("ours", 0.030), ("vllm", 0.070 / 4)])
def test_the_tokens_of_a_bundled_first_chunk_make_the_others_look_faster(name: str, tpot_s: float) -> None:
    assert figures(name, ROLE_FIRST)["tpot_p50"].value == pytest.approx(tpot_s)


def test_the_usage_event_is_no_token_to_anybody() -> None:
    found = figures("vllm", ROLE_FIRST)["e2e_p50"]

    assert found.value == pytest.approx(0.080)


def test_a_last_event_with_a_choice_and_no_token_counts_with_vllm() -> None:
    # The finish reason at 95, usage at 96.
    answer = replace(request([10, 90]), empty_ns=(95 * MS, 96 * MS))

    assert figures("vllm", trial(block(answer)))["e2e_p50"].value == pytest.approx(0.095)
    assert figures("aiperf", trial(block(answer)))["e2e_p50"].value == pytest.approx(0.090)


def test_vllm_calls_a_stream_that_broke_off_in_order_a_success() -> None:
    broken = request([10, 20], failure="truncated", name="broken")
    found = figures("vllm", trial(block(request([10, 20]), broken, request([], failure="status_500", name="refused"))))

    assert found["ttft_mean"].count == 2
    assert figures("ours", trial(block(request([10, 20]), broken)))["ttft_mean"].count == 1


def test_vllm_counts_goodput_over_successes_and_one_token_as_no_time_per_token() -> None:
    measured = trial(block(request([100]), request([100, 1000]), request([], failure="refused")))
    found = figures("vllm", measured, {"ttft": 0.2, "tpot": 0.5})

    assert found["goodput"].value == pytest.approx(1.0)


def test_aiperf_has_failures_in_the_whole_and_no_value_as_a_broken_limit() -> None:
    measured = trial(block(request([100]), request([100, 500]), request([], failure="refused")))
    found = figures("aiperf", measured, {"tpot": 0.5})

    assert found["good_fraction"].value == pytest.approx(1 / 3)
    assert found["goodput"].value == pytest.approx(1 / 0.5)


def test_without_limits_there_is_no_goodput() -> None:
    assert all("goodput" not in figures(name, ROLE_FIRST) for name in definitions.SETS)


def test_the_second_token_is_that_of_the_second_chunk() -> None:
    assert figures("aiperf", ROLE_FIRST)["time_to_second_token_p50"].value == pytest.approx(0.030)


def test_percentiles_of_other_tools_are_interpolated_however_few_the_samples_are() -> None:
    measured = trial(block(request([10, 20]), request([30, 40])))

    assert figures("vllm", measured)["ttft_p99"].value == pytest.approx(0.0298)
    assert figures("aiperf", measured)["ttft_p99"].value == pytest.approx(0.0298)
    assert "ttft_p99" not in figures("ours", measured)


@pytest.mark.parametrize("name", ["ours", "vllm", "aiperf"])
def test_a_run_in_which_all_failed_has_no_figure_and_says_why(name: str) -> None:
    found = definitions.compute(name, trial(block(request([], failure="refused"))), {"ttft": 1.0})

    assert found
    assert all(figure.value is None and "1 refused" in figure.missing for figure in found)


@pytest.mark.parametrize("name", ["vllm", "aiperf"])
def test_an_answer_of_one_token_has_no_gap_and_not_a_gap_of_nothing(name: str) -> None:
    found = figures(name, trial(block(request([10]))))

    assert found["itl_p50"].value is None
    assert "no answer has two" in found["itl_p50"].missing


def test_the_durations_of_several_processes_add_up() -> None:
    two = trial(block(request([500, 1000])), block(request([90_500, 91_000], due_ms=90_000), index=1))

    assert figures("vllm", two)["output_throughput"].value == pytest.approx(2.0)
    assert figures("aiperf", two)["output_throughput"].value == pytest.approx(2.0)


def test_every_set_says_where_its_definitions_were_read() -> None:
    assert all(found.source and found.summary and found.name == name for name, found in definitions.SETS.items())


def test_an_unknown_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="aiperf, ours, vllm"):
        definitions.compute("guidellm", ROLE_FIRST)
