"""Ratios of blocks: by rounds where they were measured in turns, side by side where not."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from paredown.stats.ratios import bootstrap_ratio, paired_ratio

OWN, BESIDE = [31.0, 33.0, 29.5, 30.2, 32.1], [10.0, 10.4, 9.7, 10.1, 10.2]


def test_rounds_give_the_geometric_mean_with_the_limits_of_a_paired_t_test():
    found = paired_ratio(OWN, BESIDE)
    oracle = ttest_rel(np.log(OWN), np.log(BESIDE)).confidence_interval(0.95)
    assert found.ratio == pytest.approx(math.prod(a / b for a, b in zip(OWN, BESIDE, strict=True)) ** 0.2)
    assert (found.low, found.high) == pytest.approx((math.exp(oracle.low), math.exp(oracle.high)))
    assert (found.blocks, found.confidence, found.differs) == (5, 0.95, True)


def test_the_inverse_ratio_has_the_inverse_limits():
    found, inverse = paired_ratio(OWN, BESIDE), paired_ratio(BESIDE, OWN)
    assert (inverse.ratio, inverse.low, inverse.high) == pytest.approx((1 / found.ratio, 1 / found.high, 1 / found.low))


def test_what_slows_both_of_a_round_changes_nothing():
    slower = [1.0, 1.3, 2.0, 0.7, 1.1]
    found = paired_ratio(
        [a * s for a, s in zip(OWN, slower, strict=True)], [b * s for b, s in zip(BESIDE, slower, strict=True)]
    )
    assert (found.low, found.high) == pytest.approx((paired_ratio(OWN, BESIDE).low, paired_ratio(OWN, BESIDE).high))


def test_one_disturbed_round_is_no_difference():
    assert paired_ratio([10.0, 10.1, 9.9, 10.0, 15.0], [10.0, 10.0, 10.0, 10.1, 10.0]).differs is False


def test_limits_cover_as_often_as_they_say():
    random = np.random.default_rng(0)
    shared = random.normal(0, 0.2, (2000, 5))
    own, beside = (np.exp(shared + random.normal(0, 0.03, (2000, 5))) for _ in range(2))
    misses = [paired_ratio(a, b).differs for a, b in zip(own, beside, strict=True)]
    assert 0.035 <= np.mean(misses) <= 0.065


@pytest.mark.parametrize(
    ("own", "beside", "why"),
    [([1.0, 2.0], [1.0], "pairs"), ([], [], "at least one"), ([1.0, 0.0], [1.0, 1.0], "positive")],
)
def test_rounds_that_are_no_pairs_of_positive_figures_are_refused(own, beside, why):
    with pytest.raises(ValueError, match=why):
        paired_ratio(own, beside)


def test_one_round_has_a_ratio_without_limits():
    found = paired_ratio([30.0], [10.0])
    assert (found.ratio, found.low, found.high, found.differs) == (pytest.approx(3.0), None, None, None)


def test_the_ratio_of_medians_has_an_interval_over_blocks():
    found = bootstrap_ratio([30, 33, 31, 29, 32], [10, 11, 10.5, 9.5, 10], seed=3)
    assert found.ratio == pytest.approx(3.1)
    assert 2.6 < found.low < found.ratio < found.high < 3.5
    assert found == bootstrap_ratio([30, 33, 31, 29, 32], [10, 11, 10.5, 9.5, 10], seed=3)


def test_fewer_than_five_blocks_on_a_side_carry_no_bootstrap():
    found = bootstrap_ratio([30, 31, 32, 33], [10, 11, 12, 13, 14])
    assert (found.ratio, found.low, found.high) == (31.5 / 12, None, None)


def test_a_ratio_to_zero_is_refused():
    with pytest.raises(ValueError, match="positive"):
        bootstrap_ratio([1.0, 2.0], [0.0, 1.0])
