"""Limits of a share, against closed forms and the binomial distribution itself."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from paredown.stats.proportions import exact_limits


@pytest.mark.parametrize("count", [1, 3, 59, 300])
def test_all_or_none_have_the_closed_form(count: int) -> None:
    assert exact_limits(count, count).low == pytest.approx(0.05 ** (1 / count))
    assert exact_limits(count, count).high == 1.0
    assert exact_limits(0, count).low == 0.0
    assert exact_limits(0, count).high == pytest.approx(1 - 0.05 ** (1 / count))


@pytest.mark.parametrize(("good", "count"), [(1, 10), (57, 60), (200, 300)])
def test_at_each_limit_what_was_seen_or_more_extreme_has_five_percent(good: int, count: int) -> None:
    found = exact_limits(good, count)
    assert binom.sf(good - 1, count, found.low) == pytest.approx(0.05)
    assert binom.cdf(good, count, found.high) == pytest.approx(0.05)


@pytest.mark.parametrize(("good", "count"), [(-1, 3), (4, 3), (0, 0)])
def test_what_is_no_share_is_refused(good: int, count: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        exact_limits(good, count)
