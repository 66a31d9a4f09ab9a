"""The false-ship rate of a run, on a thin grid; `benchmarks/bench_false_ship.py` has all of it."""

from __future__ import annotations

import numpy as np
import pytest

from paredown.decide import alpha, gates, looks, order
from paredown.decide.looks import Asked
from paredown.records.golden import Evaluation, GoldenItem, Score
from paredown.records.verdict import Margin, Verdict
from paredown.stats import sequential

ALLOWED = 0.055
LEVELS = tuple(alpha.TOTAL * alpha.SHARE * (1.0 - alpha.SHARE) ** k for k in range(4))


@pytest.mark.parametrize(("margin", "n"), [(0.05, 45), (0.03, 80), pytest.param(0.01, 240, marks=pytest.mark.slow)])
def test_four_attempts_together_ship_a_candidate_at_the_margin_in_at_most_5_5_percent(margin: float, n: int) -> None:
    truths = [(rate, margin) for rate in (margin, 1.3 * margin, 0.0931, 0.2, 0.3, 0.6, 1.0)]
    plans = [sequential.plan_at(sequential.look_sizes(n), margin, level) for level in LEVELS]
    together = np.sum([sequential.false_ship_rates(plan, truths) for plan in plans], axis=0)
    assert 0.03 < together.max() <= ALLOWED


def evaluation(values: dict[str, float]) -> Evaluation:
    return Evaluation("x", "confirmation", {}, (), tuple(Score(k, v) for k, v in values.items()), 0, 0, 0.0)


def draw(
    random: np.random.Generator, count: int, rates: tuple[float, float], tag: str
) -> dict[str, tuple[float, float]]:
    """Scores of baseline and candidate of `count` new items, with these rates of lost and gained ones."""
    lost, gained = rates
    found = {}
    for i, chance in enumerate(random.random(count)):
        kind = (1.0, 0.0) if chance < lost else (0.0, 1.0) if chance < lost + gained else (1.0, 1.0)
        found[f"{tag}{i}"] = kind
    return found


def confirm(scores: dict[str, tuple[float, float]], attempt: int):
    ordered = order.frozen([GoldenItem(name, "facts", "choice", (), "0") for name in scores], seed=attempt)
    asked = Asked(
        ordered,
        sequential.look_sizes(len(ordered)),
        (Margin("all", 0.05, gated=True),),
        LEVELS[attempt],
        LEVELS[attempt + 1],
    )
    before, after = ({name: pair[side] for name, pair in scores.items()} for side in (0, 1))
    return looks.walk(asked, evaluation(before), evaluation(after), lambda _: None)


@pytest.mark.slow
def test_runs_that_add_fresh_prompts_when_it_was_near_ship_a_bad_candidate_as_rarely_as_allowed() -> None:
    runs, shipped = 300, 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        for attempt in range(3):
            walk = confirm(draw(random, 120, (0.075, 0.025), f"a{attempt}-"), attempt)
            verdict = gates.combine(walk.slices).verdict
            shipped += verdict is Verdict.SHIP
            if verdict is not Verdict.INVESTIGATE or walk.slices[0].high > 0.08:
                break
    assert 0.0 < shipped / runs <= ALLOWED + 2.0 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.slow
def test_an_unharmed_candidate_ships_through_three_gates_at_the_recommended_number_of_prompts() -> None:
    n = sequential.items_for_margin(0.05, 0.05, 3, LEVELS[0])
    assert n is not None
    margins = tuple(Margin(f"g{k}", 0.05, gated=True) for k in range(3))
    shipped, saved, runs = 0, 0.0, 60
    for seed in range(runs):
        random = np.random.default_rng(seed)
        scores = draw(random, 3 * n, (0.025, 0.025), "i")
        made = [GoldenItem(name, f"g{i % 3}", "choice", (), "0") for i, name in enumerate(scores)]
        ordered = order.frozen(made, 0)
        asked = Asked(ordered, sequential.look_sizes(len(ordered)), margins, LEVELS[0], LEVELS[1])
        before, after = ({name: pair[side] for name, pair in scores.items()} for side in (0, 1))
        walk = looks.walk(asked, evaluation(before), evaluation(after), lambda _: None)
        shipped += gates.combine(walk.slices).verdict is Verdict.SHIP
        assert walk.looks is not None
        saved += walk.looks.saved / runs
    assert shipped / runs >= 0.80 - 2.0 * (0.8 * 0.2 / runs) ** 0.5
    assert saved > 0.3
