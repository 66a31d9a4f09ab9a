import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.decide import alpha
from paredown.records import codec
from paredown.stats import power


def spend_all(attempts):
    budget, levels = alpha.AlphaBudget(), []
    for candidate, items in attempts:
        spending = alpha.spend(budget, candidate, items)
        budget, levels = spending.budget, [*levels, spending.alpha]
    return budget, levels


@given(st.lists(st.tuples(st.text(max_size=3), st.tuples(st.text(max_size=2))), max_size=30))
def test_all_attempts_together_never_spend_more_than_the_budget(attempts):
    budget, _ = spend_all(attempts)
    assert budget.spent <= alpha.TOTAL + 1e-12


def test_each_new_attempt_is_tested_more_strictly():
    _, levels = spend_all([("a", ("1",)), ("b", ("1",)), ("b", ("1", "2"))])
    assert levels == pytest.approx([0.04, 0.008, 0.0016])


def test_the_same_candidate_on_the_same_prompts_again_costs_nothing():
    budget, levels = spend_all([("a", ("1", "2")), ("a", ("2", "1"))])
    assert levels == pytest.approx([0.04, 0.04])
    assert len(budget.attempts) == 1


def test_the_budget_survives_the_store():
    budget, _ = spend_all([("a", ("1",)), ("b", ("1",))])
    assert codec.loads(alpha.AlphaBudget, codec.dumps(budget)) == budget


@pytest.mark.parametrize(("margin", "n"), [(0.01, 300), (0.02, 57), (0.03, 450), (0.05, 118), (0.05, 1000)])
def test_a_run_with_five_attempts_ships_a_bad_candidate_in_at_most_5_5_percent(margin, n):
    _, levels = spend_all([(str(i), ("1",)) for i in range(5)])
    worst = 0.0
    for level in levels:
        nominal = power.non_inferiority_level(n, margin, level)
        rates = np.linspace(margin, 0.2, 12)
        worst += max(power.ship_probability(n, margin, f, margin, nominal) for f in rates)
    assert worst <= 0.055
