import functools
import itertools

import numpy as np
import pytest

from paredown.stats import power, sequential
from paredown.stats.sequential import Stop, decide

ALPHA = 0.04


@pytest.fixture(scope="module")
def seven_gates():
    """The plan for seven gates: margin 5 points, 5 % flips, each gate shipping with 97 %."""
    return sequential.plan(358, 0.05, ALPHA, power_flip_rate=0.05)


def walked(plan, path, decide):
    """How one run ends, look by look: the stop and the items it took."""
    for index, at in enumerate(plan.looks):
        lost, gained = path[: at.n].count(1), path[: at.n].count(-1)
        stop = decide(plan, index, lost, gained)
        if stop is not Stop.GO_ON:
            return stop, at.n
    return Stop.GO_ON, plan.n


def test_the_course_equals_the_sum_over_every_possible_run():
    plan = sequential.plan(6, 0.40, 0.3, looks=3, power_flip_rate=0.5)
    chances = {1: 0.4, -1: 0.2, 0: 0.4}
    found = {Stop.SHIP: 0.0, Stop.REJECT: 0.0, Stop.GO_ON: 0.0}
    items = 0.0
    seen = functools.cache(decide)
    for path in itertools.product((1, -1, 0), repeat=plan.n):
        chance = float(np.prod([chances[each] for each in path]))
        stop, n = walked(plan, path, seen)
        found[stop] += chance
        items += chance * n
    course = sequential.course(plan, 0.6, 0.2)
    assert min(found.values()) > 0.01
    assert (course.ship, course.reject) == pytest.approx((found[Stop.SHIP], found[Stop.REJECT]), abs=1e-9)
    assert sequential.expected_items(plan, 0.6, 0.2) == pytest.approx(items, abs=1e-8)


def test_a_simulated_candidate_at_the_margin_ships_as_often_as_computed():
    plan = sequential.plan(200, 0.05, ALPHA)
    sizes = np.diff([0, *(at.n for at in plan.looks)])
    runs = 20_000
    draws = [np.random.default_rng(7 + k).multinomial(d, [0.075, 0.025, 0.9], runs) for k, d in enumerate(sizes)]
    counts = np.cumsum(draws, axis=0)
    shipped = np.zeros(runs, dtype=bool)
    for k in range(len(sizes)):
        pairs, which = np.unique(counts[k, :, :2], axis=0, return_inverse=True)
        stops = np.array([decide(plan, k, int(b), int(c)) is Stop.SHIP for b, c in pairs])
        shipped |= stops[which.ravel()]
    rate = sequential.false_ship_rate(plan, 0.10, 0.05)
    assert 0.01 < rate <= ALPHA
    assert np.mean(shipped) == pytest.approx(rate, abs=4 * np.sqrt(rate / runs))


@pytest.mark.parametrize(("margin", "n"), [(0.01, 300), (0.02, 160), (0.03, 104), (0.05, 20), (0.05, 118), (0.05, 240)])
def test_a_candidate_at_the_margin_ships_no_more_often_than_allowed(margin, n):
    plan = sequential.plan(n, margin, ALPHA)
    rates = [margin, margin + 0.0031, 0.0733, 0.1517]
    assert max(sequential.false_ship_rate(plan, rate, margin) for rate in rates) <= 1.005 * ALPHA


def test_the_allowed_rate_is_used_and_not_left_lying(seven_gates):
    worst = max(sequential.false_ship_rate(seven_gates, rate, 0.05) for rate in (0.05, 0.07, 0.1, 0.15, 0.2))
    assert worst > 0.9 * ALPHA


def test_a_candidate_at_the_margin_is_rejected_no_more_often_than_allowed(seven_gates):
    rejected = [sequential.course(seven_gates, rate, 0.05).reject for rate in (0.052, 0.09, 0.2)]
    assert 0.5 * ALPHA < max(rejected) <= 1.005 * ALPHA


def test_a_larger_drop_ships_less_often(seven_gates):
    rates = [sequential.false_ship_rate(seven_gates, 0.1, drop) for drop in (0.0, 0.05, 0.06, 0.1)]
    assert rates == sorted(rates, reverse=True)


def test_a_single_look_is_the_test_of_fixed_length():
    plan = sequential.plan(158, 0.05, ALPHA, looks=1)
    (look,) = plan.looks
    assert look.n == 158
    assert look.ship_level <= ALPHA
    fixed = power.ship_probability(158, 0.05, 0.05, 0.0, look.ship_level)
    assert sequential.course(plan, 0.05, 0.0).ship == pytest.approx(fixed, abs=1e-8)


def test_looks_go_in_equal_steps_from_30_percent_to_the_last_item():
    assert [at.n for at in sequential.plan(200, 0.05, ALPHA).looks] == [60, 95, 130, 165, 200]


def test_looks_that_fall_together_become_one():
    assert [at.n for at in sequential.plan(3, 0.05, ALPHA).looks] == [1, 2, 3]


def test_too_few_items_never_ship():
    plan = sequential.plan(20, 0.05, ALPHA)
    assert all(decide(plan, k, 0, 0) is Stop.GO_ON for k in range(len(plan.looks)))


def test_the_first_look_ships_a_clean_candidate_rejects_a_broken_one_and_waits_between(seven_gates):
    assert decide(seven_gates, 0, 0, 3) is Stop.SHIP
    assert decide(seven_gates, 0, 30, 0) is Stop.REJECT
    assert decide(seven_gates, 0, 4, 0) is Stop.GO_ON


def test_a_clearly_good_candidate_saves_forty_percent_of_the_items_on_average(seven_gates):
    fixed = power.prompts_for_margin(0.05, 0.05, gates=7, alpha=ALPHA)
    assert sequential.course(seven_gates, 0.05, 0.0).ship >= 0.968
    items = [sequential.expected_items(seven_gates, 0.05, drop) for drop in (0.0, -0.01)]
    assert np.mean(items) <= 0.6 * fixed


def test_a_clearly_bad_candidate_saves_forty_percent_of_the_items(seven_gates):
    fixed = power.prompts_for_margin(0.05, 0.05, gates=7, alpha=ALPHA)
    assert sequential.expected_items(seven_gates, 0.10, 0.10, futility=True) <= 0.4 * fixed
    assert sequential.expected_items(seven_gates, 0.15, 0.15) <= 0.6 * fixed


def test_the_futility_rule_costs_hardly_any_power_and_no_false_ship(seven_gates):
    without = sequential.course(seven_gates, 0.05, 0.0)
    with_it = sequential.course(seven_gates, 0.05, 0.0, futility=True)
    assert without.ship - 0.02 <= with_it.ship < without.ship
    at_margin = sequential.course(seven_gates, 0.08, 0.05, futility=True)
    assert at_margin.futile > 0.3
    assert at_margin.ship <= sequential.false_ship_rate(seven_gates, 0.08, 0.05)


def test_many_losses_are_futile_before_they_are_a_rejection(seven_gates):
    assert decide(seven_gates, 0, 9, 1) is Stop.GO_ON
    assert sequential.is_futile(seven_gates, 0, 9, 1)
    assert not sequential.is_futile(seven_gates, 0, 2, 2)


def test_a_last_look_is_never_called_futile(seven_gates):
    assert not sequential.is_futile(seven_gates, len(seven_gates.looks) - 1, 300, 0)


def test_the_recommended_length_reaches_the_power_through_every_gate():
    n = sequential.items_for_margin(0.05, 0.03, 2, ALPHA, looks=3)
    fixed = power.prompts_for_margin(0.05, 0.03, 2, ALPHA)
    assert fixed < n <= 1.3 * fixed
    assert sequential.course(sequential.plan(n, 0.05, ALPHA, 3, 0.03), 0.03, 0.0).ship ** 2 >= 0.80


def test_runs_in_which_every_item_flips_have_a_course_too(seven_gates):
    course = sequential.course(seven_gates, 1.0, 0.05)
    assert 0.0 < course.ship < 0.05
    assert 107 < course.items <= 358


@pytest.mark.parametrize(("n", "margin", "alpha"), [(0, 0.05, 0.05), (50, 0.0, 0.05), (50, 0.05, 0.0)])
def test_a_plan_that_cannot_be_is_refused(n, margin, alpha):
    with pytest.raises(ValueError, match="No plan for"):
        sequential.plan(n, margin, alpha)


def test_counts_that_do_not_fit_the_look_are_refused(seven_gates):
    with pytest.raises(ValueError, match="do not fit a look"):
        decide(seven_gates, 0, 100, 50)


def test_a_drop_larger_than_the_flips_is_refused(seven_gates):
    with pytest.raises(ValueError, match="at least as many flips"):
        sequential.expected_items(seven_gates, 0.05, 0.06)


@pytest.mark.parametrize(("margin", "n"), [(0.03, 45), (0.05, 118), (0.05, 205)])
def test_the_rate_is_kept_also_where_most_items_flip(margin, n):
    plan = sequential.plan(n, margin, ALPHA)
    truths = [(rate, margin) for rate in (0.3, 0.5, 0.8, 1.0)]
    assert 0.9 * ALPHA < max(sequential.false_ship_rates(plan, truths)) <= 1.1 * ALPHA


def test_a_long_plan_is_made_from_the_normal_statistic_and_rejects_by_exact_levels():
    plan = sequential.plan(1_600, 0.05, ALPHA)
    assert 0.7 * ALPHA < sequential.false_ship_rate(plan, 0.06, 0.05) <= ALPHA
    assert 0.3 * ALPHA < sequential.course(plan, 0.06, 0.05).reject <= ALPHA


def test_gates_share_the_level_of_a_rejection_but_not_that_of_a_ship():
    alone, seven = sequential.plan(100, 0.05, ALPHA), sequential.plan(100, 0.05, ALPHA, gates=7)
    assert [at.ship_level for at in alone.looks] == [at.ship_level for at in seven.looks]
    assert sequential.course(seven, 0.07, 0.05).reject <= ALPHA / 7


def test_looks_can_be_at_given_sizes_and_only_rising_ones():
    assert [at.n for at in sequential.plan_at((20, 31, 80), 0.05, ALPHA).looks] == [20, 31, 80]
    with pytest.raises(ValueError, match="rising numbers"):
        sequential.plan_at((20, 20, 80), 0.05, ALPHA)
