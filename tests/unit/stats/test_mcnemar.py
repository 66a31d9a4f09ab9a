import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from paredown.stats import mcnemar


@given(st.integers(0, 60), st.integers(0, 60))
def test_it_is_the_exact_p_value_less_the_observed_point(lost, gained):
    if lost == gained:
        assert mcnemar.mid_p(lost, gained) == pytest.approx(1.0)
        return
    exact = binomtest(lost, lost + gained, 0.5).pvalue
    assert mcnemar.mid_p(lost, gained) == pytest.approx(exact - binom.pmf(lost, lost + gained, 0.5))


@given(st.integers(0, 200), st.integers(0, 200))
def test_it_does_not_matter_which_side_is_which(lost, gained):
    assert mcnemar.mid_p(lost, gained) == mcnemar.mid_p(gained, lost)


def test_no_flip_is_no_evidence():
    assert mcnemar.mid_p(0, 0) == 1.0
