"""What early stopping saves, and whether it keeps the false-ship rate: exact, no simulation.

1. False-ship rate, worst over flip rates from the margin to 20 %, for every STEP-th number of items (20 to 1,000).
2. Items saved against the fixed-n test with the same errors (the plan is made longer until it has the same power), on
   clearly good and clearly bad candidates; and the power lost when the plan is not made longer.
3. The same for an anytime-valid betting test (Waudby-Smith and Ramdas 2024) that looks after every item.

Run: python benchmarks/bench_sequential.py [STEP]
"""

from __future__ import annotations

import statistics
import sys
from functools import cache

import numpy as np

from paredown.stats import power, sequential

ALPHA = 0.04
ALLOWED = 1.1
WANTED = 0.40
BETS = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])


def main(step: int) -> int:
    print(f"False-ship rate at {ALPHA:.0%} (and at 0.8 %), 5 looks, true drop = margin, worst over flips and items")
    failed = False
    for margin in (0.01, 0.02, 0.03, 0.05):
        first, second = worst(margin, ALPHA, step), worst(margin, 0.008, step)
        failed |= first[0] > ALPHA * ALLOWED or second[0] > 0.008 * ALLOWED
        print(f"{100 * margin:3.0f} pt  {first[0]:7.3%} (n = {first[1]})   {second[0]:7.3%} (n = {second[1]})")
    print(
        "\nmargin flips gates  n fixed, power | same n: power, saved | same power: n, saved good / bad | betting: power"
    )
    for gates in (1, 3, 7):
        rows = [saved(margin, flips, gates) for margin in (0.03, 0.05) for flips in (0.03, 0.05)]
        good, bad, strict = (statistics.mean(share for row in rows for share in row[part]) for part in range(3))
        print(
            f"{gates} gates, mean saved at the same power: clearly good {good:.0%}; clearly bad {bad:.0%} with the "
            f"futility rule, {strict:.0%} until REJECT (wanted: {WANTED:.0%})"
        )
    return 1 if failed else 0


def worst(margin: float, alpha: float, step: int) -> tuple[float, int]:
    """Worst false-ship rate over rates that the plan was not computed at, and its number of items."""
    rates = margin + (0.20 - margin) * (np.arange(23) + 0.3) / 23
    found = (0.0, 0)
    for n in range(20, 1001, step):
        made = sequential.plan(n, margin, alpha)
        found = max(found, (max(sequential.false_ship_rate(made, float(f), margin) for f in rates), n))
    return found


def saved(margin: float, flips: float, gates: int) -> tuple[list[float], ...]:
    """Shares saved at equal power on good candidates (drop 0, −1 point), bad ones (2, 3 margins), and until REJECT."""
    fixed = power.prompts_for_margin(margin, flips, gates=gates, alpha=ALPHA)
    assert fixed is not None
    level = power.non_inferiority_level(fixed, margin, ALPHA)
    kept = power.ship_probability(fixed, margin, flips, 0.0, level)
    short = sequential.course(sequential.plan(fixed, margin, ALPHA, 5, flips), flips, 0.0)
    n = sequential.items_for_margin(margin, flips, 1, ALPHA, min(kept, 0.8 ** (1 / gates)))
    assert n is not None
    made = sequential.plan(n, margin, ALPHA, 5, flips)
    good = [1 - sequential.expected_items(made, flips, drop) / fixed for drop in (0.0, -0.01)]
    truths = [(max(flips, k * margin), k * margin) for k in (2, 3)]
    bad = [1 - sequential.expected_items(made, f, drop, futility=True) / fixed for f, drop in truths]
    strict = [1 - sequential.expected_items(made, f, drop) / fixed for f, drop in truths]
    any_ship, any_items = betting(fixed, margin, flips, 0.0)
    print(
        f"{100 * margin:3.0f} pt {flips:5.0%} {gates:5d} {fixed:6d} {kept:7.1%}   | {short.ship:7.1%} "
        f"{1 - short.items / fixed:6.0%} | {n:4d}  {good[0]:4.0%} {good[1]:4.0%} / {bad[0]:4.0%} {bad[1]:4.0%} (until "
        f"REJECT {strict[0]:4.0%} {strict[1]:4.0%}) | {any_ship:5.1%} saved {1 - any_items / fixed:4.0%}",
        flush=True,
    )
    return good, bad, strict


@cache
def betting(n: int, margin: float, flips: float, drop: float) -> tuple[float, float]:
    """Power and mean items of an equal mixture of fixed bets against "drop ≥ margin", looking after every item.

    The capital of a fixed bet depends on the counts alone, so the run is the same kind of recursion as the plan's.
    """
    lost, gained = np.arange(n + 1.0)[:, None], np.arange(min(n, 60) + 1.0)[None, :]
    lost = lost[:61]
    up, down = (flips + drop) / 2, (flips - drop) / 2
    alive, shipped, items = np.zeros((lost.size, gained.size)), 0.0, 0.0
    alive[0, 0] = 1.0
    for k in range(1, n + 1):
        items += float(alive.sum())
        following = alive * (1 - flips)
        following[1:] += up * alive[:-1]
        following[:, 1:] += down * alive[:, :-1]
        capital = np.zeros_like(alive)
        for bet in BETS:
            logs = lost * np.log1p(bet * (margin - 1)) + gained * np.log1p(bet * (margin + 1))
            capital += np.exp(logs + (k - lost - gained) * np.log1p(bet * margin)) / BETS.size
        stops = (capital >= 1 / ALPHA) & (lost + gained <= k)
        shipped += float(following[stops].sum())
        following[stops] = 0.0
        alive = following
    return shipped, items


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 70))
