"""The ratio of two totals, and how often its limits are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from paredown.stats import totals


def test_equal_units_have_the_ratio_of_their_totals_and_no_width() -> None:
    found = totals.ratio([10, 20, 30], [5, 10, 15])
    assert (found.ratio, found.units) == (0.5, 3)
    assert found.low == pytest.approx(0.5)
    assert found.high == pytest.approx(0.5)


def test_limits_are_those_of_the_linearized_variance_on_the_logarithm() -> None:
    # By hand: Σa = 40, Σb = 60, terms b/Σb − a/Σa = (1/3 − 1/4, 2/3 − 3/4) = (1/12, −1/12);
    # deviation √(2/1 · 2/144) = 1/6; t(0.95, 1) = 6.3138.
    found = totals.ratio([10, 30], [20, 40])
    assert found.half_width == pytest.approx(6.3138 / 6, rel=1e-4)
    assert found.high == pytest.approx(1.5 * np.exp(6.3138 / 6), rel=1e-4)


def test_one_unit_has_no_limits_and_odd_input_is_refused() -> None:
    assert totals.ratio([4], [8]).low is None
    for a, b in (([], []), ([1], [1, 2]), ([0, 0], [1, 2]), ([1, 2], [0, 0]), ([-1, 3], [1, 2])):
        with pytest.raises(ValueError, match=r"ratio of totals|pairs"):
            totals.ratio(a, b)


def test_each_limit_misses_the_true_ratio_of_skewed_lengths_about_one_time_in_twenty() -> None:
    random, too_low, too_high, runs = np.random.default_rng(0), 0, 0, 1500
    for _ in range(runs):
        a = random.lognormal(3.0, 0.6, 30)
        b = 0.8 * a * random.lognormal(-0.08, 0.4, 30)
        found = totals.ratio(a, b)
        too_low += (found.high or 0.0) < 0.8
        too_high += (found.low or 9.0) > 0.8
    assert too_low / runs < 0.09
    assert too_high / runs < 0.09
    assert too_low + too_high > 0.04 * runs
