"""Limits of pooled samples, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from paredown.records.figure import Samples
from paredown.stats.figures import mean, over_blocks, quantile
from paredown.testing.scripted_events import block, request, trial


def samples(values: list[float], blocks: list[int] | None = None) -> Samples:
    return Samples("m", "s", tuple(values), tuple(blocks or [0] * len(values)))


def test_a_mean_has_students_limits() -> None:
    # t(0.95, 3) = 2.353363; s = 1.290994; 2.353363 · 1.290994 / 2 = 1.519087
    found = mean(samples([1, 2, 3, 4]), "mean", clustered=False)

    assert found.value == pytest.approx(2.5)
    assert (found.low, found.high) == (pytest.approx(2.5 - 1.519087, abs=1e-5), pytest.approx(4.019087, abs=1e-5))
    assert found.confidence == pytest.approx(0.90)


def test_one_cluster_has_a_mean_without_limits() -> None:
    found = mean(samples([1, 2, 3]), "mean", clustered=True)

    assert (found.value, found.low, found.high, found.count) == (2, None, None, 1)


def test_fewer_than_five_clusters_give_no_limits() -> None:
    found = quantile(samples([1, 2, 3, 4], [0, 1, 2, 3]), 0.5, "p50", clustered=True)

    assert (found.value, found.low, found.high) == (2.5, None, None)


def test_clusters_that_differ_widen_the_limits_of_pooled_samples() -> None:
    random = np.random.default_rng(1)
    values = [float(level + noise) for level in range(10) for noise in random.normal(0, 0.01, 50)]
    blocks = [index // 50 for index in range(500)]
    by_cluster = quantile(samples(values, blocks), 0.5, "p50", clustered=True)
    naive = quantile(samples(values, blocks), 0.5, "p50", clustered=False)

    assert by_cluster.low is not None
    assert by_cluster.high is not None
    assert naive.low is not None
    assert naive.high is not None
    assert by_cluster.high - by_cluster.low > 2 * (naive.high - naive.low)


def test_the_limits_of_clusters_hold_as_often_as_they_claim() -> None:
    random = np.random.default_rng(2)
    held = 0
    for _ in range(80):
        levels = random.normal(0, 1, 30)
        values = [float(v) for level in levels for v in random.normal(level, 0.1, 4)]
        found = quantile(samples(values, [i // 4 for i in range(120)]), 0.5, "p50", clustered=True)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.0 <= found.high
    assert 0.82 <= held / 80 <= 0.97


def test_blocks_have_a_median_and_limits_from_five_on() -> None:
    four = trial(*(block(request([1, 2]), index=i) for i in range(4)))
    five = trial(*(block(request([1, 2]), index=i) for i in range(5)))

    assert over_blocks("m", "s", four, lambda b: float(b.index), "").high is None
    found = over_blocks("m", "s", five, lambda b: float(b.index), "")
    assert (found.value, found.low, found.high, found.count) == (2.0, 0.0, 4.0, 5)


def test_blocks_without_a_value_are_left_out_and_none_at_all_is_missing() -> None:
    two = trial(block(request([1, 2])), block(request([1, 2]), index=1))

    assert over_blocks("m", "s", two, lambda b: float(b.index) if b.index else None, "why").count == 1
    assert over_blocks("m", "s", two, lambda b: None, "why").missing == "why"
