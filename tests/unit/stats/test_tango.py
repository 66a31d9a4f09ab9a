import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from paredown.stats import tango


@st.composite
def paired_counts(draw):
    n = draw(st.integers(1, 400))
    lost = draw(st.integers(0, n))
    return lost, draw(st.integers(0, n - lost)), n


@pytest.mark.parametrize(("n", "points"), [(20, 11.9), (50, 5.1), (100, 2.6), (200, 1.3)])
def test_without_flips_the_upper_limit_is_2_71_over_n_plus_2_71(n, points):
    limits = tango.limits(0, 0, n)
    assert limits.high == pytest.approx(2.7055 / (n + 2.7055), rel=1e-4)
    assert 100 * limits.high == pytest.approx(points, abs=0.06)
    assert limits.low == pytest.approx(-limits.high)


def test_the_limits_are_where_the_score_test_changes_its_mind():
    limits = tango.limits(9, 1, 43, alpha=0.025)
    inside = float(tango.score(9, 1, 43, limits.low)), float(tango.score(9, 1, 43, limits.high))
    assert inside == pytest.approx((1.959964, -1.959964), abs=1e-6)


def test_the_score_uses_the_most_likely_gain_under_the_hypothesis():
    lost, gained, n, drop = 9, 4, 60, 0.03

    def minus_log_likelihood(gain):
        unchanged = 1 - 2 * gain - drop
        return -(lost * math.log(gain + drop) + gained * math.log(gain) + (n - lost - gained) * math.log(unchanged))

    gain = minimize_scalar(minus_log_likelihood, bounds=(1e-9, (1 - drop) / 2 - 1e-9), method="bounded").x
    expected = (lost - gained - n * drop) / math.sqrt(n * (2 * gain + drop * (1 - drop)))
    assert float(tango.score(lost, gained, n, drop)) == pytest.approx(expected, abs=1e-4)


@given(paired_counts())
@settings(max_examples=150, deadline=None)
def test_the_limits_contain_the_observed_drop(counts):
    limits = tango.limits(*counts)
    assert limits.low <= limits.drop + 1e-9
    assert limits.drop - 1e-9 <= limits.high


@given(paired_counts())
@settings(max_examples=100, deadline=None)
def test_exchanging_baseline_and_candidate_changes_the_sign(counts):
    lost, gained, n = counts
    there, back = tango.limits(lost, gained, n), tango.limits(gained, lost, n)
    assert there.low == pytest.approx(-back.high)
    assert there.high == pytest.approx(-back.low)


@given(paired_counts())
@settings(max_examples=100, deadline=None)
def test_one_more_lost_item_never_lowers_the_limits(counts):
    lost, gained, n = counts
    if lost + gained < n:
        fewer, more = tango.limits(lost, gained, n), tango.limits(lost + 1, gained, n)
        assert more.high >= fewer.high - 1e-9
        assert more.low >= fewer.low - 1e-9


@given(paired_counts(), st.floats(0.001, 0.2))
@settings(max_examples=100, deadline=None)
def test_a_stricter_level_widens_the_interval(counts, alpha):
    wide, narrow = tango.limits(*counts, alpha=alpha / 2), tango.limits(*counts, alpha=alpha)
    assert wide.low <= narrow.low + 1e-9
    assert narrow.high <= wide.high + 1e-9


def test_counts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        tango.limits(3, 3, 5)


def test_the_p_value_reaches_alpha_exactly_at_the_lower_limit():
    limits = tango.limits(14, 2, 80)
    assert tango.p_worse(14, 2, 80, limits.low) == pytest.approx(0.05, abs=1e-6)
