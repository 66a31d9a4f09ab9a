"""The search for a capacity, on servers whose capacity is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paredown.errors import UserError
from paredown.measure.capacity import RunOutcome, search
from paredown.records.figure import Figure
from paredown.records.measurement import Capacity, CapacityPoint

QUICK = settings(max_examples=60, deadline=None)


class Server:
    """Runs a load by a function of it; remembers what was run."""

    def __init__(self, outcome: Callable[[float, int], RunOutcome]) -> None:
        self.ran: list[tuple[float, int]] = []
        self._outcome = outcome

    def __call__(self, load: float, run: int) -> RunOutcome:
        self.ran.append((load, run))
        return self._outcome(load, run)


def up_to(capacity: float) -> Server:
    return Server(lambda load, _run: RunOutcome((), "" if load <= capacity else f"ttft_p95 was {load:g} s, 1 s asked"))


def scripted(outcomes: Mapping[float, str]) -> Server:
    """`m` met, `x` missed, `v` void, in the order of the runs at that load; the last one goes on for ever."""

    def outcome(load: float, run: int) -> RunOutcome:
        letter = outcomes[load][min(run, len(outcomes[load]) - 1)]
        return RunOutcome(
            (), "ttft_p95 was 2 s, 1 s asked" if letter == "x" else "", "Sent late." if letter == "v" else ""
        )

    return Server(outcome)


def found(
    server: Server, axis: str = "request_rate", first: float = 1.0, largest: float = 64.0, **more: float
) -> Capacity:
    return search(server, axis=axis, first=first, largest=largest, targets=("ttft_p95<=1s",), **more)  # type: ignore[arg-type]


def tried(capacity: Capacity) -> Sequence[float]:
    return [point.load for point in capacity.points]


@QUICK
@given(st.floats(0.05, 900.0), st.floats(0.5, 5.0), st.sampled_from([0.02, 0.1, 0.3]))
def test_a_rate_that_is_kept_exactly_up_to_a_limit_is_enclosed_as_closely_as_asked(
    capacity: float, first: float, precision: float
) -> None:
    result = found(up_to(capacity), first=first, largest=1024.0, precision=precision)

    assert result.high is not None
    assert result.high > capacity
    if result.low is None:
        assert capacity < first / 64 * (1 + 1e-9)
    else:
        assert result.low <= capacity
        assert result.high - result.low <= precision * result.high * (1 + 1e-6)


@QUICK
@given(st.integers(1, 900), st.integers(1, 16), st.sampled_from([0.05, 0.1]))
def test_a_concurrency_is_a_whole_number_and_found_exactly_where_one_is_within_the_precision(
    capacity: int, first: int, precision: float
) -> None:
    result = found(up_to(capacity), "concurrency", float(first), 1024.0, precision=precision)

    assert all(load == int(load) for load in tried(result))
    assert result.low is not None
    assert result.high is not None
    assert result.low <= capacity < result.high
    assert result.high - result.low <= max(1.0, precision * result.high)


@QUICK
@given(st.integers(1, 5), st.floats(0.02, 0.5), st.floats(0.0, 1.0), st.floats(0.3, 3.0))
def test_a_clockwork_server_with_several_lines_is_enclosed(
    lines: int, service_s: float, limit_s: float, first: float
) -> None:
    """D/D/c: request k waits ⌊k/c⌋·s − k/λ once the server is behind, so that the first of the last round sets the
    rate: λ* = k/(⌊k/c⌋·s − limit).
    """
    requests = 200
    last_round = (requests - 1) // lines
    behind_s = last_round * service_s

    def run(rate: float, _run: int) -> RunOutcome:
        free = [0.0] * lines
        longest = 0.0
        for arrived in (k / rate for k in range(requests)):
            line = min(range(lines), key=free.__getitem__)
            begins = max(arrived, free[line])
            free[line] = begins + service_s
            longest = max(longest, begins - arrived)
        return RunOutcome((), "" if longest <= limit_s else f"waiting was {longest:g} s, {limit_s:g} s asked")

    result = found(Server(run), first=first, largest=4096.0)
    true = last_round * lines / (behind_s - limit_s) if behind_s > limit_s else math.inf

    assert result.low is not None
    assert result.low <= true * 1.001
    assert result.high is None if true > 4096.0 else result.high is not None
    if result.high is not None:
        assert result.high >= true * 0.999


def mm1(seed: int, served_per_s: float, limit_s: float, seconds: float) -> Server:
    """Poisson arrivals, one line, service times drawn from the exponential distribution; judged by its own p95."""

    def run(rate: float, number: int) -> RunOutcome:
        chance = np.random.default_rng([seed, number, round(rate * 1000)])
        count = max(20, round(rate * seconds))
        arrived = np.cumsum(chance.exponential(1 / rate, count))
        free, stayed = 0.0, np.empty(count)
        for index, (at, service) in enumerate(zip(arrived, chance.exponential(1 / served_per_s, count), strict=True)):
            free = max(at, free) + service
            stayed[index] = free - at
        p95 = float(np.quantile(stayed, 0.95))
        return RunOutcome((), "" if p95 <= limit_s else f"e2e_p95 was {p95:g} s, {limit_s:g} s asked")

    return Server(run)


@pytest.mark.parametrize(("served_per_s", "limit_s", "first"), [(20.0, 0.5, 1.0), (20.0, 0.5, 1.3), (50.0, 0.2, 1.7)])
def test_the_interval_holds_the_capacity_of_a_queue_in_19_of_20_searches(
    served_per_s: float, limit_s: float, first: float
) -> None:
    """M/M/1: the time in the system is exponential with rate μ − λ, so that p95 = ln 20/(μ − λ)."""
    true = served_per_s - math.log(20) / limit_s
    results = [found(mm1(seed, served_per_s, limit_s, 60.0), first=first, largest=1024.0) for seed in range(40)]
    held = [r.low is not None and r.high is not None and r.low <= true <= r.high for r in results]

    assert sum(held) >= 38


def test_loads_double_then_halve_the_distance_and_the_ends_are_tried_again() -> None:
    server = up_to(11.0)
    result = found(server)

    assert [load for load, run in server.ran if run == 0] == [1, 2, 4, 8, 16, 12, 10, 11]
    assert [load for load, run in server.ran if run == 3] == [11, 12]
    assert (result.low, result.high) == (11, 12)


def test_the_sentence_says_what_an_operator_wants_to_read() -> None:
    assert found(up_to(11.0)).sentence == (
        "Holds 11 requests/s (between 11 and 12) with every target met; at 12 ttft_p95 was 12 s, 1 s asked."
    )
    assert found(up_to(11.0), "concurrency").sentence == (
        "Holds 11 requests in flight with every target met; at 12 ttft_p95 was 12 s, 1 s asked."
    )


def test_when_the_first_load_is_missed_smaller_ones_are_tried() -> None:
    server = up_to(0.3)
    result = found(server)

    assert [load for load, run in server.ran if run == 0][:3] == [1, 0.5, 0.25]
    assert result.low is not None
    assert result.high is not None
    assert result.low <= 0.3 < result.high


def test_a_server_that_keeps_no_target_at_all_is_given_up_at_a_floor() -> None:
    result = found(up_to(0.0))

    assert (result.low, min(tried(result)), result.high) == (None, 1 / 64, 1 / 64)
    assert result.sentence.startswith("Does not hold even 0.015625 requests/s with every target met: ttft_p95 was")


def test_a_concurrency_of_one_is_the_floor() -> None:
    result = found(up_to(0.0), "concurrency", 4.0)

    assert tried(result) == [1, 2, 4]
    assert result.sentence.startswith("Does not hold even 1 request in flight")


def test_when_nothing_is_missed_the_largest_load_is_the_end_and_that_is_said() -> None:
    result = found(up_to(1e9), largest=50.0)

    assert (result.low, result.high) == (50, None)
    assert result.sentence == "Holds at least 50 requests/s with every target met."
    assert "50 requests/s were not asked for" in result.note


def test_a_load_whose_runs_disagree_lies_between_and_is_left_as_soon_as_they_do() -> None:
    server = scripted(
        {1: "m", 2: "m", 4: "mx", 8: "x", 3: "m", 3.5: "m", 3.75: "m", 6: "x", 5: "x", 4.5: "x", 4.25: "x"}
    )
    result = found(server)

    assert (result.low, result.high) == (3.75, 4.25)
    assert [run for load, run in server.ran if load == 4] == [0, 1]
    assert next(point for point in result.points if point.load == 4) == CapacityPoint(
        4, 2, 1, 0, "ttft_p95 was 2 s, 1 s asked"
    )


def test_runs_that_agree_on_a_miss_are_all_made() -> None:
    server = up_to(1.0)
    found(server, precision=0.6)

    assert [run for load, run in server.ran if load == 2][:3] == [0, 1, 2]


def test_outcomes_that_are_not_monotone_widen_the_interval() -> None:
    # 4 is missed and 6 is held: nobody can say more than that it lies between 3 and 8.
    server = scripted({1: "m", 2: "m", 4: "xmm", 3: "m", 3.5: "xm", 3.25: "xm", 8: "x", 6: "m", 7: "mx", 7.5: "x"})
    result = found(server)

    assert (result.low, result.high) == (3, 7.5)


def test_a_missed_load_below_one_whose_runs_disagree_is_not_the_upper_end() -> None:
    server = scripted(
        {1: "m", 2: "m", 4: "mx", 8: "x", 3: "x", 2.5: "m", 2.75: "m", 6: "x", 5: "x", 4.5: "x", 4.25: "x"}
    )
    result = found(server)

    assert (result.low, result.high) == (2.75, 4.25)


def test_an_end_that_is_not_confirmed_moves_outwards() -> None:
    # 8 was missed in its first three runs and not in the fourth.
    server = scripted(
        {1: "m", 2: "m", 4: "m", 8: "xxxm", 16: "x", 6: "m", 7: "m", 7.5: "m", 12: "x", 10: "x", 9: "x", 8.5: "x"}
    )
    result = found(server)

    assert (result.low, result.high) == (7.5, 8.5)


def test_a_run_in_which_the_client_was_late_is_made_once_more() -> None:
    server = scripted({1: "m", 2: "vm", 4: "x", 3: "m", 3.5: "m", 3.75: "m"})
    result = found(server)

    assert (result.low, result.high) == (3.75, 4)
    assert next(point for point in result.points if point.load == 2).void == 1
    assert result.note == ""


def test_a_client_that_is_late_again_ends_the_search_upwards_and_says_so() -> None:
    server = scripted({1: "m", 2: "m", 4: "m", 8: "v", 6: "m", 7: "v", 6.5: "m"})
    result = found(server)

    assert (result.low, result.high) == (6.5, None)
    assert result.sentence == "Holds at least 6.5 requests/s with every target met."
    assert result.note == "No run at 7 requests/s counts, so larger loads were not tried: Sent late."


def test_below_a_load_that_cannot_be_offered_the_capacity_is_still_found() -> None:
    server = scripted({1: "m", 2: "m", 4: "m", 8: "v", 6: "x", 5: "m", 5.5: "x"})
    result = found(server)

    assert (result.low, result.high) == (5, 5.5)


def test_when_no_run_counts_there_is_no_capacity_and_no_figure() -> None:
    result = found(scripted({1 / 2**k: "v" for k in range(7)}))

    assert (result.low, result.high) == (None, None)
    assert result.sentence == ("No capacity was found: not even a run at 0.015625 requests/s counts (Sent late).")


def test_a_point_has_the_median_of_its_runs_with_their_range() -> None:
    def run(_load: float, number: int) -> RunOutcome:
        values = (0.3, 0.1, None)
        return RunOutcome((Figure("ttft", "s", values[number % 3], 20, "p95", missing="none", note="busy"),))

    told: list[CapacityPoint] = []
    found(Server(run), largest=1.0, on_point=told.append)  # type: ignore[arg-type]
    (figure,) = told[0].figures

    assert (figure.name, figure.value, figure.count) == ("ttft_p95", pytest.approx(0.2), 2)
    assert figure.note == "median of 2 runs, from 0.1 to 0.3; busy"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"axis": "users"}, "request_rate or concurrency"),
        ({"first": 0.0}, "0 < first"),
        ({"first": 10.0, "largest": 5.0}, "0 < first"),
        ({"axis": "concurrency", "first": 1.5}, "whole number"),
        ({"runs": 0}, "at least 1 run"),
        ({"precision": 1.0}, "precision between"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        found(up_to(1.0), **wrong)
