import math

import numpy as np
import pytest
from scipy.stats import multinomial

from paredown.stats import mcnemar, power, tango


def by_enumeration(n, flip_rate, drop, decides):
    """The slow, plain way: every cell of the trinomial."""
    chances = [(flip_rate + drop) / 2, (flip_rate - drop) / 2, 1 - flip_rate]
    lost, gained = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    possible = lost + gained <= n
    lost, gained = lost[possible], gained[possible]
    weights = multinomial.pmf(np.stack([lost, gained, n - lost - gained], axis=1), n, chances)
    return float(np.sum(weights[decides(lost, gained)]))


@pytest.mark.parametrize(("n", "flip_rate", "drop"), [(60, 0.10, 0.0), (118, 0.05, 0.05), (150, 0.2, 0.05)])
def test_the_chance_to_ship_equals_the_sum_over_the_whole_trinomial(n, flip_rate, drop):
    z = tango.normal_quantile(0.95)
    slow = by_enumeration(n, flip_rate, drop, lambda b, c: tango.score(b, c, n, 0.05) < -z)
    assert power.ship_probability(n, 0.05, flip_rate, drop) == pytest.approx(slow, abs=1e-8)


def test_the_chance_to_reject_equals_the_sum_over_the_whole_trinomial():
    z = tango.normal_quantile(0.95)
    slow = by_enumeration(120, 0.2, 0.12, lambda b, c: tango.score(b, c, 120, 0.03) > z)
    assert power.reject_probability(120, 0.03, 0.2, 0.12) == pytest.approx(slow, abs=1e-8)


def test_the_chance_to_see_a_drop_equals_the_sum_over_the_whole_trinomial():
    slow = by_enumeration(108, 0.10, 0.05, lambda b, c: (mcnemar.mid_p_values(b, c) <= 0.1) & (b > c))
    assert power.detect_probability(108, 0.10, 0.05) == pytest.approx(slow, abs=1e-8)


@pytest.mark.parametrize(("flip_rate", "n"), [(0.05, 158), (0.10, 269), (0.15, 382)])
def test_prompts_for_a_margin_of_5_points_match_the_oracle(flip_rate, n):
    assert power.prompts_for_margin(0.05, flip_rate) == n


@pytest.mark.parametrize(("flip_rate", "n"), [(0.05, 821), (0.10, 1566), (0.15, 2340)])
def test_prompts_for_a_margin_of_2_points_match_the_oracle_within_half_a_percent(flip_rate, n):
    assert power.prompts_for_margin(0.02, flip_rate) == pytest.approx(n, rel=0.005)
    assert power.ship_probability(n, 0.02, flip_rate, 0.0) >= 0.80


@pytest.mark.parametrize(("flip_rate", "n"), [(0.05, 292), (0.10, 522), (0.15, 759)])
def test_for_seven_gates_jointly_each_needs_97_percent_power(flip_rate, n):
    assert power.ship_probability(n, 0.05, flip_rate, 0.0) == pytest.approx(0.97, abs=0.001)
    assert power.prompts_for_margin(0.05, flip_rate, gates=7) == pytest.approx(n, rel=0.015)


@pytest.mark.parametrize(
    ("drop", "flip_rate", "n"),
    [
        (0.05, 0.05, 108),
        (0.05, 0.10, 233),
        (0.05, 0.15, 361),
        (0.02, 0.05, 743),
        (0.02, 0.10, 1536),
        (0.02, 0.15, 2313),
    ],
)
def test_mcnemar_reaches_80_percent_within_two_prompts_of_the_oracle(drop, flip_rate, n):
    # By enumeration the first n with 80 % is two above each entry of the table of the measurement rules.
    assert power.detect_probability(n + 1, flip_rate, drop) < 0.80 <= power.detect_probability(n + 2, flip_rate, drop)


def test_the_known_worst_size_of_tango_is_found():
    assert power.ship_probability(118, 0.05, 0.05, 0.05) == pytest.approx(0.062, abs=0.0005)


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.03, 0.05])
@pytest.mark.parametrize("n", [20, 57, 118, 199, 360, 1000])
def test_a_candidate_at_the_margin_ships_in_at_most_5_5_percent(margin, n):
    level = power.non_inferiority_level(n, margin)
    between = np.linspace(margin, 0.2, 38)  # other flip rates than those the level was found on
    assert max(power.ship_probability(n, margin, f, margin, level) for f in between) <= 0.0555
    assert level <= 0.05


def test_the_level_is_stricter_only_where_tango_breaks_its_own():
    assert power.non_inferiority_level(118, 0.05) < 0.05
    assert power.non_inferiority_level(100, 0.05) == 0.05


def test_prompts_needed_grow_as_the_drop_nears_the_margin():
    far, near = power.prompts_needed(4, 4, 150, 0.03), power.prompts_needed(6, 3, 150, 0.03)
    assert far < near


def test_no_number_of_prompts_decides_a_drop_at_the_margin():
    assert power.prompts_needed(12, 6, 200, 0.03) is None
    assert power.prompts_needed(301, 242, 2000, 0.03) is None


def test_without_flips_the_prompts_needed_reach_the_zero_flip_limit():
    needed = 20 + power.prompts_needed(0, 0, 20, 0.05)
    assert needed >= math.ceil(2.7055 * 0.95 / 0.05)


def test_a_clear_loss_needs_prompts_to_reject_not_to_ship():
    further = power.prompts_needed(9, 2, 120, 0.03)
    n = 120 + further
    assert power.reject_probability(n, 0.03, 12 / 122, 7 / 120) >= 0.80


def test_too_few_prompts_can_show_no_drop_at_all():
    assert power.smallest_visible_drop(3, 0.1) is None
    assert power.smallest_visible_drop(100, 0.1) == pytest.approx(0.075, abs=0.005)


def test_the_smallest_visible_drop_is_the_one_detected_with_80_percent():
    drop = power.smallest_visible_drop(235, 0.10)
    assert drop == pytest.approx(0.05, abs=0.001)
