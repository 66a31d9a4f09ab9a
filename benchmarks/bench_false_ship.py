"""How often a run ships a candidate that is as bad as the margin or unharmed, and what stopping early saves.

1. Exact: the chance that a gate ships at a true drop of exactly the margin, by the plan that a run decides with, worst
   over flip rates; summed over the attempts of a run (several candidates, or prompts added after INVESTIGATE).
   Required: ≤ 5.5 % over margins of 1, 2, 3, 5 points, 20 to 1,000 prompts, flips from the margin up to 20 % (and to
   100 %). Beside it the fixed test that `--no-early-stopping` leaves.
2. Simulated, through the function that decides a confirmation (`decide.looks.walk`): whole runs at the margin that try
   again after INVESTIGATE, on fresh prompts as the product does, and with old and new ones pooled.
3. At the number of prompts that the product recommends: how often an unharmed candidate ships through 1, 3, 7 gates.
4. Prompts asked, against the fixed test of the same power: clearly good (drop 0, −1 point) and clearly bad candidates
   (2 and 3 margins, in every gate and in one of them).

Run: python benchmarks/bench_false_ship.py [STEP] [RUNS] (every STEP-th number of prompts; RUNS simulated runs)
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paredown.decide import alpha, gates, looks, order
from paredown.decide.looks import Asked, Walk
from paredown.records.golden import Evaluation, GoldenItem, Score
from paredown.records.verdict import Margin, Verdict
from paredown.stats import power, sequential, tango

MARGINS = (0.01, 0.02, 0.03, 0.05)
LEVELS = tuple(alpha.TOTAL * alpha.SHARE * (1.0 - alpha.SHARE) ** k for k in range(4))
MANY_FLIPS = (0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ALLOWED = 0.055
WANTED_POWER, WANTED_SAVING = 0.80, 0.40


@dataclass(frozen=True)
class Worst:
    """Largest false-ship rate of a run over flip rates up to 20 %, and beyond."""

    usual: float
    many_flips: float


def exact(n: int, margin: float, rates: int = 16) -> Worst:
    """The chance to ship in any of four attempts on n prompts each, none of which another one has asked."""
    usual = [margin + (0.20 - margin) * (k + 0.3) / rates for k in range(rates)]
    truths = [(rate, margin) for rate in (margin, *usual, 0.20, *MANY_FLIPS)]
    total = np.zeros(len(truths))
    for level in LEVELS:
        plan = sequential.plan_at(sequential.look_sizes(n), margin, level)
        total += sequential.false_ship_rates(plan, truths)
    beyond = len(MANY_FLIPS)
    return Worst(float(total[:-beyond].max()), float(total[-beyond:].max()))


def fixed(n: int, margin: float, rates: int = 40) -> float:
    """The same without looks, up to 20 % of flips."""
    levels = [power.non_inferiority_level(n, margin, level) for level in LEVELS]
    usual = np.linspace(margin, 0.20, rates)
    return max(sum(power.ship_probability(n, margin, float(f), margin, level) for level in levels) for f in usual)


# ── whole confirmations, through the function that decides them ───────────────────────────────────────────────────


def items(count: int, gate_count: int, first: int = 0) -> list[GoldenItem]:
    return [GoldenItem(f"i{first + i}", f"g{i % gate_count}", "choice", (), "0") for i in range(count)]


def draw(random: np.random.Generator, made: list[GoldenItem], flips: float, drops: dict[str, float]) -> dict[str, str]:
    """What happens to each item: lost, gained or the same."""
    found = {}
    for item, chance in zip(made, random.random(len(made)), strict=True):
        drop = drops.get(item.slice, 0.0)
        rate = max(flips, abs(drop))
        lost = (rate + drop) / 2.0
        found[item.id] = "lost" if chance < lost else "gained" if chance < rate else "same"
    return found


def confirm(
    made: list[GoldenItem], fate: dict[str, str], margin: float, levels: tuple[float, float], seed: int
) -> Walk:
    """One confirmation with all its looks."""
    ordered = order.frozen(made, seed)
    margins = tuple(Margin(name, margin, gated=True) for name in sorted({item.slice for item in made}))
    asked = Asked(ordered, sequential.look_sizes(len(ordered)), margins, *levels)
    before = {item.id: 0.0 if fate[item.id] == "gained" else 1.0 for item in made}
    after = {item.id: 0.0 if fate[item.id] == "lost" else 1.0 for item in made}
    return looks.walk(asked, evaluation(before), evaluation(after), lambda _: None)


def evaluation(values: dict[str, float]) -> Evaluation:
    return Evaluation("x", "confirmation", {}, (), tuple(Score(k, v) for k, v in values.items()), 0, 0, 0.0)


def pooled_at_worst(attempts: int = 5) -> float:
    """Old and new prompts pooled, a fixed test each time, whoever adds them choosing their number as best as can be.

    Normal statistic, by dynamic programming from the last attempt backwards: the state is the pooled statistic, the
    choice how many times the prompts so far are added (0.01 to 300). On fresh prompts it is the sum of the levels.
    """
    grid = np.linspace(-6.0, 6.0, 1_201)
    weights = np.exp(-0.5 * grid * grid) / np.exp(-0.5 * grid * grid).sum()
    levels = [alpha.TOTAL * alpha.SHARE * (1.0 - alpha.SHARE) ** k for k in range(attempts)]
    ahead = np.zeros_like(grid)
    for level in reversed(levels[1:]):
        wins = np.where(grid > tango.normal_quantile(level), ahead, 1.0)
        best = np.zeros_like(grid)
        for added in np.geomspace(0.01, 300.0, 60):
            spread = (added / (1.0 + added)) ** 0.5
            away = (grid[None, :] - grid[:, None] / (1.0 + added) ** 0.5) / spread
            chances = np.exp(-0.5 * away * away)
            best = np.maximum(best, chances @ wins / np.maximum(chances.sum(axis=1), 1e-300))
        ahead = best
    return float(weights @ np.where(grid > tango.normal_quantile(levels[0]), ahead, 1.0))


More = Callable[[Walk, int], int]


def as_recommended(walk: Walk, n: int) -> int:
    """What the verdict asks for, in halves of what there was (each number takes a plan), at most four times."""
    half = n // 2
    return min(4 * n, half * -(-(walk.slices[0].more_prompts or 0) // half))


def only_when_near(walk: Walk, n: int) -> int:
    """A few more where the drop seen was small, else none: what somebody does who wants to see it ship."""
    row = walk.slices[0]
    return n // 2 if row.high is not None and row.high < 1.6 * row.margin else 0


def run(random: np.random.Generator, n: int, margin: float, flips: float, more: More, *, pooled: bool) -> bool:
    """Whether a candidate at the margin ships in any attempt of a run to which prompts are added."""
    made = items(n, 1)
    fate = draw(random, made, flips, {"g0": margin})
    for attempt in range(len(LEVELS) - 1):
        walk = confirm(made, fate, margin, (LEVELS[attempt], LEVELS[attempt + 1]), attempt)
        verdict = gates.combine(walk.slices).verdict
        if verdict is not Verdict.INVESTIGATE:
            return verdict is Verdict.SHIP
        count = more(walk, n)
        if not count:
            return False
        assert walk.looks is not None
        added = items(count, 1, first=(attempt + 1) * 100_000)
        unasked = order.frozen(made, attempt)[walk.looks.asked :]
        fate |= draw(random, added, flips, {"g0": margin})
        made = [*made, *added] if pooled else [*unasked, *added]
    return False


def asked_share(random: np.random.Generator, n: int, gate_count: int, drops: dict[str, float], runs: int) -> Shares:
    """Runs that ship, and prompts asked, on n prompts in each gate at margins of 5 points and 5 % flips."""
    shipped, asked = 0, []
    for _ in range(runs):
        made = items(n * gate_count, gate_count)
        walk = confirm(made, draw(random, made, 0.05, drops), 0.05, LEVELS[:2], 0)
        assert walk.looks is not None
        shipped += gates.combine(walk.slices).verdict is Verdict.SHIP
        asked.append(walk.looks.asked)
    return Shares(shipped / runs, statistics.mean(asked))


@dataclass(frozen=True)
class Shares:
    """shipped: share of the runs; asked: mean number of prompts"""

    shipped: float
    asked: float


def main(step: int, runs: int) -> int:
    failed = errors(step) | retries(runs) | recommended()
    return int(failed | savings(max(20, runs // 10)))


def errors(step: int) -> bool:
    print("1. False-ship rate of a run with four attempts, exact, worst over flips and prompts")
    worst_of_all = 0.0
    for margin in MARGINS:
        found = {n: exact(n, margin) for n in range(20, 1001, step)}
        usual = max(found, key=lambda n: found[n].usual)
        beyond = max(found, key=lambda n: found[n].many_flips)
        alone = max(fixed(n, margin) for n in found)
        worst_of_all = max(worst_of_all, found[usual].usual, found[beyond].many_flips)
        print(
            f"{100 * margin:3.0f} pt  flips ≤ 20 %: {found[usual].usual:6.2%} (n = {usual})   beyond: "
            f"{found[beyond].many_flips:6.2%} (n = {beyond})   fixed test: {alone:6.2%}",
            flush=True,
        )
    return worst_of_all > ALLOWED


def retries(runs: int) -> bool:
    print(f"\n2. A candidate at the margin, prompts added after INVESTIGATE: {runs} simulated runs each")
    print(f"pooled, the worst that can be done (fixed tests, normal): {pooled_at_worst():.2%}; fresh: 5.00 %")
    failed = False
    for margin, flips, n in ((0.05, 0.10, 150), (0.05, 0.20, 100), (0.03, 0.06, 250)):
        for more in (as_recommended, only_when_near):
            rates = [
                statistics.mean(
                    run(np.random.default_rng(k), n, margin, flips, more, pooled=pooled) for k in range(runs)
                )
                for pooled in (False, True)
            ]
            noise = 3.0 * (0.05 * 0.95 / runs) ** 0.5
            failed |= rates[0] > ALLOWED + noise
            print(
                f"{100 * margin:.0f} pt, flips {flips:.0%}, n = {n}, {more.__name__}: fresh {rates[0]:.2%}, "
                f"pooled {rates[1]:.2%} (± {noise / 1.5:.2%})",
                flush=True,
            )
    return failed


def recommended() -> bool:
    print("\n3. At the recommended number of prompts: an unharmed candidate ships, jointly, exact (gates independent)")
    failed = False
    for margin, flips in ((0.05, 0.05), (0.03, 0.05), (0.02, 0.03)):
        for count in (1, 3, 7):
            n = sequential.items_for_margin(margin, flips, count, LEVELS[0])
            before = power.prompts_for_margin(margin, flips, count, LEVELS[0])
            assert n is not None
            plan = sequential.plan(n, margin, LEVELS[0], gates=count)
            joint = sequential.course(plan, flips, 0.0, futility=True).ship ** count
            failed |= joint < WANTED_POWER
            print(
                f"{100 * margin:.0f} pt, flips {flips:.0%}, {count} gates: n = {n} (fixed {before}), {joint:.1%}",
                flush=True,
            )
    return failed


def savings(runs: int) -> bool:
    print(f"\n4. Prompts saved against the fixed test of the same power; margin 5 points, {runs} simulated runs each")
    random, failed = np.random.default_rng(11), False
    for count in (1, 3, 7):
        n = sequential.items_for_margin(0.05, 0.05, count, LEVELS[0])
        before = power.prompts_for_margin(0.05, 0.05, count, LEVELS[0])
        assert n is not None
        assert before is not None
        every = [f"g{k}" for k in range(count)]
        kinds = {
            "good, drop 0": dict.fromkeys(every, 0.0),
            "good, −1 point": dict.fromkeys(every, -0.01),
            "bad, 2 margins": dict.fromkeys(every, 0.10),
            "bad, 3 margins": dict.fromkeys(every, 0.15),
            "bad in one gate, 2 margins": {"g0": 0.10},
        }
        found = {name: asked_share(random, n, count, drops, runs) for name, drops in kinds.items()}
        saved = {name: 1.0 - shares.asked / (before * count) for name, shares in found.items()}
        good, bad = (
            statistics.mean(share for name, share in saved.items() if name.startswith(kind))
            for kind in ("good", "bad, ")
        )
        failed |= (good + bad) / 2.0 < WANTED_SAVING or found["good, drop 0"].shipped < WANTED_POWER - 0.1
        told = "; ".join(f"{name}: {saved[name]:.0%} saved, {found[name].shipped:.0%} ship" for name in kinds)
        print(f"{count} gates, {n} prompts each (fixed {before}): {told}")
        print(f"    mean: good {good:.0%}, bad {bad:.0%}, good and bad together {(good + bad) / 2:.0%}", flush=True)
    return failed


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(given[0] if given else 10, given[1] if len(given) > 1 else 1_000))
