import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, ttest_1samp

from paredown.stats import chance, graded, holm, percentiles


@pytest.mark.parametrize(("q", "n"), [(0.95, 59), (0.99, 299)])
def test_a_percentile_has_an_upper_limit_only_with_enough_samples(q, n):
    assert percentiles.interval(range(n), q).high == n - 1
    assert percentiles.interval(range(n - 1), q).high is None
    assert percentiles.samples_needed(q) == n


def test_a_percentile_limit_covers_as_often_as_it_says():
    random = np.random.default_rng(1)
    intervals = [percentiles.interval(random.exponential(size=80), 0.9) for _ in range(600)]
    truth = -np.log(0.1)
    assert np.mean([i.high >= truth for i in intervals]) >= 0.93
    assert np.mean([i.low <= truth for i in intervals]) >= 0.93


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_percentile_lies_within_its_limits(values, q):
    interval = percentiles.interval(values, q)
    assert interval.low is None or interval.low <= interval.value
    assert interval.high is None or interval.value <= interval.high


def test_no_values_have_no_percentile():
    with pytest.raises(ValueError, match="No values"):
        percentiles.interval([], 0.5)


def test_holm_gives_the_worked_example():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, made monotone; in the order given.
    assert holm.adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.2))
def test_holm_rejects_what_stepping_down_rejects(p_values, alpha):
    rejected = set()
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] * (len(p_values) - rank) > alpha:
            break
        rejected.add(index)
    assert {i for i, p in enumerate(holm.adjust(p_values)) if p <= alpha} == rejected


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.data())
@settings(max_examples=60)
def test_equal_chances_give_the_binomial_tail(n, share, data):
    right = data.draw(st.integers(0, n))
    assert chance.p_above_chance(right, [share] * n) == pytest.approx(binom.sf(right - 1, n, share), abs=1e-9)


def test_unequal_chances_give_the_sum_over_all_outcomes():
    expected = 0.2 * 0.5 * (1 - 0.25) + 0.2 * 0.5 * 0.25 + 0.2 * 0.5 * 0.25 + 0.8 * 0.5 * 0.25
    assert chance.p_above_chance(2, [0.2, 0.5, 0.25]) == pytest.approx(expected)


def test_graded_scores_are_compared_with_their_chance_by_a_t_test():
    scores, chances = [0.9, 0.7, 0.8, 0.4, 0.6], [0.5] * 5
    expected = ttest_1samp(np.array(scores) - 0.5, 0.0, alternative="greater").pvalue
    assert chance.p_mean_above_chance(scores, chances) == pytest.approx(expected)


def test_the_standard_error_over_single_items_is_the_usual_one():
    drops = [0.1, -0.2, 0.3, 0.0, 0.05]
    found = graded.mean_drop(drops, list("abcde"))
    assert found.standard_error == pytest.approx(np.std(drops, ddof=1) / 5**0.5)
    assert found.p_larger_than(0.0) == pytest.approx(ttest_1samp(drops, 0.0, alternative="greater").pvalue)
    assert found.p_changed() == pytest.approx(ttest_1samp(drops, 0.0).pvalue)


def test_copies_of_an_item_in_one_cluster_add_no_certainty():
    single = graded.mean_drop([0.1, -0.2, 0.3, 0.0], list("abcd"))
    copied = graded.mean_drop([0.1, -0.2, 0.3, 0.0] * 3, list("abcd") * 3)
    assert copied.standard_error == pytest.approx(single.standard_error)
    assert copied.limits() == pytest.approx(single.limits())


def test_a_few_equal_graded_answers_prove_no_margin():
    assert graded.mean_drop([0.0] * 5, list("abcde")).limits()[1] > 0.3
    low, high = graded.mean_drop([0.0], ["a"]).limits()
    assert (low, high) == (-1.0, 1.0)


def test_graded_limits_cover_as_often_as_they_say():
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(500):
        drops = random.normal(0.05, 0.2, 40).clip(-1, 1)
        covered += graded.mean_drop(list(drops), [str(i) for i in range(40)]).limits()[1] >= 0.05
    assert covered / 500 >= 0.93


def graded_size(n, margin, flip_rate, alpha=0.05):
    """False-ship rate of the graded limits on right-or-wrong items, by enumeration."""
    total = 0.0
    for flips in range(int(binom.ppf(1e-9, n, flip_rate)), int(binom.ppf(1 - 1e-9, n, flip_rate)) + 1):
        share = (flip_rate + margin) / (2 * flip_rate)
        for lost in range(flips + 1):
            weight = binom.pmf(flips, n, flip_rate) * binom.pmf(lost, flips, share)
            if weight < 1e-7 or lost - (flips - lost) >= n * margin:
                continue
            drops = [1.0] * lost + [-1.0] * (flips - lost) + [0.0] * (n - flips)
            total += weight * (graded.mean_drop(drops, [str(i) for i in range(n)]).limits(alpha)[1] < margin)
    return total


@pytest.mark.parametrize(("n", "margin", "flip_rate"), [(118, 0.05, 0.05), (118, 0.05, 0.1), (90, 0.03, 0.04)])
def test_graded_limits_ship_rare_losses_no_more_often_than_they_say(n, margin, flip_rate):
    # Student's t alone: 15 % at the first of these.
    assert graded_size(n, margin, flip_rate) <= 0.055


def test_graded_items_needed_are_enough_when_the_same_goes_on():
    drops = [0.0, 0.1, -0.1, 0.2, -0.2] * 12
    found = graded.mean_drop(drops, [str(i) for i in range(60)])
    assert found.limits()[1] > 0.03
    total = 60 + found.items_needed(0.03)
    repeated = (drops * 60)[:total]
    assert graded.mean_drop(repeated, [str(i) for i in range(total)]).limits()[1] < 0.03
