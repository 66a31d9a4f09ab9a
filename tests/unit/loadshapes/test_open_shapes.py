"""Schedules against what their definitions say, computed independently of them."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
import scipy.integrate
import scipy.stats

from paredown import registry
from paredown.errors import UserError
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest


def due(shape: str, count: int, options: Options) -> list[float]:
    requests = tuple(TrafficRequest(f"r{i}", (), 1) for i in range(count))
    compute = registry.load_shape(shape).due
    assert compute is not None
    return list(compute(requests, options))


def gaps(times: list[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(times)]


def test_a_constant_rate_spaces_requests_equally() -> None:
    assert due("constant_rate", 5, {"rate": 4}) == [0, 0.25, 0.5, 0.75, 1.0]


def test_poisson_counts_in_equal_spans_vary_as_much_as_their_mean() -> None:
    times = due("poisson", 40_000, {"rate": 20, "seed": 3})
    counts = [0] * int(times[-1])
    for time in times:
        if time < len(counts):
            counts[int(time)] += 1

    assert statistics.mean(counts) == pytest.approx(20, rel=0.02)
    assert statistics.variance(counts) / statistics.mean(counts) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
def test_gamma_gaps_have_the_mean_of_the_rate_and_vary_by_one_over_the_root_of_the_burstiness(
    burstiness: float,
) -> None:
    between = gaps(due("gamma", 40_000, {"rate": 5, "burstiness": burstiness, "seed": 1}))

    mean = statistics.mean(between)
    assert mean == pytest.approx(0.2, rel=0.03)
    assert statistics.stdev(between) / mean == pytest.approx(1 / math.sqrt(burstiness), rel=0.03)
    fits = scipy.stats.kstest(between, scipy.stats.gamma(burstiness, scale=0.2 / burstiness).cdf)
    assert fits.pvalue > 0.001


@pytest.mark.parametrize(("shape", "extra"), [("poisson", {}), ("gamma", {"burstiness": 1})])
def test_poisson_and_gamma_of_burstiness_1_have_exponential_gaps(shape: str, extra: Options) -> None:
    between = gaps(due(shape, 20_000, {"rate": 8, "seed": 5, **extra}))

    assert scipy.stats.kstest(between, scipy.stats.expon(scale=1 / 8).cdf).pvalue > 0.001


@pytest.mark.parametrize(
    ("start", "end", "over_s"), [(1, 9, 10), (9, 1, 10), (0, 10, 12), (5, 5, 8), (2, 4, 20), (1, 9, 0), (10, 0, 0)]
)
def test_a_ramp_has_sent_as_many_as_the_integral_of_its_rate(start: float, end: float, over_s: float) -> None:
    count = 60
    times = due("ramp", count, {"from_rate": start, "to_rate": end, "over_s": over_s})
    length = over_s or 2 * count / (start + end)

    def rate(time: float) -> float:
        return start + (end - start) * min(time, length) / length

    for index, time in enumerate(times):
        sent, _ = scipy.integrate.quad(rate, 0, time, points=[min(length, time)], limit=200)
        assert sent == pytest.approx(index, abs=1e-6)


def test_a_replay_keeps_the_gaps_of_the_trace_from_the_first_request_on() -> None:
    requests = tuple(TrafficRequest(f"r{i}", (), 1, at_s=at_s) for i, at_s in enumerate([4.0, 4.5, 4.5, 7.0]))
    compute = registry.load_shape("replay").due
    assert compute is not None

    assert compute(requests, {}) == [0, 0.5, 0.5, 3.0]
    assert compute(requests, {"time_scale": 2}) == [0, 1.0, 1.0, 6.0]


@pytest.mark.parametrize(("times", "says"), [([0.0, None], "r1 has no arrival time"), ([1.0, 0.5], "order")])
def test_a_replay_of_requests_without_times_or_order_is_refused(times: list[float | None], says: str) -> None:
    requests = tuple(TrafficRequest(f"r{i}", (), 1, at_s=at_s) for i, at_s in enumerate(times))
    compute = registry.load_shape("replay").due
    assert compute is not None

    with pytest.raises(UserError, match=says):
        compute(requests, {})


def test_a_sweep_of_rates_is_one_step_for_each_with_arrivals_of_its_own() -> None:
    steps = registry.load_shape("sweep").steps
    assert steps is not None

    assert [(s.label, s.load_shape, s.options) for s in steps({"rates": "2,0.5", "seed": 7})] == [
        ("2 requests/s", "poisson", {"rate": 2, "seed": 7}),
        ("0.5 requests/s", "poisson", {"rate": 0.5, "seed": 8}),
    ]
    assert [s.options for s in steps({"rates": 3, "arrivals": "constant_rate"})] == [{"rate": 3}]


def test_a_sweep_of_concurrencies_is_a_closed_loop_for_each() -> None:
    steps = registry.load_shape("sweep").steps
    assert steps is not None

    assert [(s.label, s.load_shape, s.options) for s in steps({"concurrencies": "1,16"})] == [
        ("1 in flight", "closed_loop", {"concurrency": 1}),
        ("16 in flight", "closed_loop", {"concurrency": 16}),
    ]


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        ("constant_rate", {"rate": 0}, "constant_rate has rate 0; give a number greater than 0"),
        ("constant_rate", {"rate": "fast"}, "rate 'fast'"),
        ("constant_rate", {"rate": True}, "rate True"),
        ("poisson", {"rate": -1}, "poisson has rate -1"),
        ("poisson", {"rate": math.inf}, "rate inf"),
        ("poisson", {"seed": 1.5}, r"seed 1\.5; give a whole number"),
        ("gamma", {"burstiness": 0}, "gamma has burstiness 0"),
        ("gamma", {"rate": math.nan}, "rate nan"),
        ("ramp", {"from_rate": -1}, "from_rate -1; give a number from 0 on"),
        ("ramp", {"from_rate": 0, "to_rate": 0}, "never be sent"),
        ("ramp", {"from_rate": 5, "to_rate": 0, "over_s": 3}, "never be sent"),
        ("ramp", {"over_s": None}, "over_s None"),
        ("replay", {"time_scale": 0}, "time_scale 0"),
        ("sweep", {"rates": "1,x"}, "rates '1,x'; give different numbers greater than 0"),
        ("sweep", {"rates": "1,,2"}, "rates '1,,2'"),
        ("sweep", {"rates": "2,2"}, "rates '2,2'"),
        ("sweep", {"rates": "1,-2"}, "rates '1,-2'"),
        ("sweep", {"concurrencies": "1,2.5"}, "whole numbers from 1 on"),
        ("sweep", {"concurrencies": "4", "rates": "2"}, "give one of the two"),
        ("sweep", {"arrivals": "posson"}, "give poisson or constant_rate"),
    ],
)
def test_options_that_make_no_load_are_refused(shape: str, options: Options, says: str) -> None:
    with pytest.raises(UserError, match=says):
        registry.load_shape(shape).concurrency(options)
