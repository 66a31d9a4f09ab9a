"""Stopping early on paired right/wrong items without breaking the error rates: a group-sequential plan.

A plan is fixed before the first item: looks at 30 % of the items and in equal steps up to all of them. At each look
Tango's score statistic decides, at a nominal level that is stricter than alpha. The levels come from alpha spending
(Lan and DeMets 1983, Biometrika 70:659; the family of Hwang, Shih and DeCani 1990; Jennison and Turnbull 2000): the
chance to have shipped by a look, at a true drop of exactly the margin, is the alpha spent by then and no more, for
every flip rate from the margin to 20 %. It is enumerated over the trinomial of lost, gained and unchanged items, so
neither Tango's approximation nor the unknown flip rate adds to it. SHIP and REJECT are each computed as if the other
did not stop the run: neither has to be obeyed for the other to hold. Never laxer than Tango's limit at alpha, so the
interval printed beside a SHIP agrees with it.

Spending is even for SHIP (early spending costs power) and early for REJECT (Pocock-like; its power is not promised).

Figures (alpha 4 %, 5 looks, exact, `benchmarks/bench_sequential.py`; margins 3 and 5 points, flips 3 and 5 %):

- Worst false-ship rate over margins 1, 2, 3, 5 points, n 20–1,000, flips up to 20 %: 4.00 % (0.80 % at alpha 0.8 %).
  Beyond 20 % of flips it is not kept: up to 5.1 % at 30 % and 5.8 % at 50 % of flips (n 60–400).
- At the n of the fixed test, power at no drop falls from 97 to 94–95 % (n for seven gates), 93 to 87–89 % (three),
  77–82 to 68–73 % (one): so a plan is made 14–20 % longer (`items_for_margin`). The savings below are those of the
  longer plan against the shorter fixed test of the same power; means over margins and flips.
- Clearly good candidates: seven gates 37 % fewer items at drop 0 and 51 % at −1 point, together 44 %; three gates 28
  and 44 %, together 36 %; one gate 14 and 30 %, together 22 %. What can be had at drop 0 is bounded: Wald's sequential
  ratio test, which has no last item, saves 55, 47 and 38 % at these powers (normal approximation).
- Clearly bad ones (2 and 3 margins): 64, 63 and 61 % until SHIP cannot be expected any more (`is_futile`); until
  REJECT 51, 47 and 37 % (at 2 margins alone 40, 35 and 21 %).
- A test by betting (Waudby-Smith and Ramdas 2024, JRSS B 86:1; a mixture of seven fixed bets), valid at any time and
  looking after every item, saves no more at the same n (10–43 % where the plan saves 16–45 %) but ships only 80–82 %
  (seven gates) and 40–49 % (one) of good candidates where the plan ships 94–95 and 68–73 %. Hence the plan.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paredown.stats import power as power_of_tests
from paredown.stats import tango

Floats = NDArray[np.float64]

_TAIL = 1e-11
_RATES = 46
_FIRST_LOOK = 0.3
_MANY_ITEMS = 1_000
_SHIP_SHAPE, _REJECT_SHAPE = 0.0, 1.0
_FUTILITY_LOSS = 0.02


class Stop(enum.Enum):
    """What a look says."""

    SHIP = "ship"
    REJECT = "reject"
    GO_ON = "go on"


@dataclass(frozen=True)
class Look:
    """One look at the first `n` items, with Tango's nominal one-sided levels that decide there (0 = never).

    futile_level: of a drop above the margin; advice only, see `is_futile`
    """

    n: int
    ship_level: float
    reject_level: float
    futile_level: float


@dataclass(frozen=True)
class SequentialPlan:
    """All looks, fixed before the first item is answered."""

    margin: float
    alpha: float
    power_flip_rate: float
    looks: tuple[Look, ...]

    @property
    def n(self) -> int:
        return self.looks[-1].n


@dataclass(frozen=True)
class Course:
    """How a run of the plan ends (probabilities) and how many items it takes on average."""

    ship: float
    reject: float
    futile: float
    undecided: float
    items: float


@functools.lru_cache(maxsize=256)
def plan(n: int, margin: float, alpha: float, looks: int = 5, power_flip_rate: float = 0.05) -> SequentialPlan:
    """Place `looks` looks, the first at 30 % of `n` items and the last at all, and compute their levels.

    power_flip_rate: the flips expected of a good candidate, at which the futility rule may cost 2 % of power
    Raises ValueError for figures that do not fit.
    """
    if n < 1 or looks < 1 or not 0.0 < margin < 1.0 or not 0.0 < alpha < 0.5 or not 0.0 < power_flip_rate <= 1.0:
        raise ValueError(
            f"No plan for n = {n}, margin {margin}, alpha {alpha}, looks {looks}, power_flip_rate {power_flip_rate}; "
            "expected n and looks of 1 or more, a margin and a flip rate between 0 and 1, an alpha below one half."
        )
    sizes = _sizes(n, looks)
    at_margin = [(float(f), margin) for f in np.linspace(margin, min(1.0, max(0.20, margin * 1.05)), _RATES)]
    to_ship = [alpha * _spent_share(size / n, _SHIP_SHAPE) for size in sizes]
    to_reject = [alpha * _spent_share(size / n, _REJECT_SHAPE) for size in sizes]
    ship = _levels(sizes, margin, at_margin, to_ship, -1.0, alpha)
    reject = _levels(sizes, margin, at_margin, to_reject, 1.0, alpha)
    early = sizes[:-1]
    lost = [_FUTILITY_LOSS * size / n for size in early]
    futile = [*_levels(early, margin, [(power_flip_rate, 0.0)], lost, 1.0, 0.9), 0.0]
    decided = tuple(Look(*each) for each in zip(sizes, ship, reject, futile, strict=True))
    return SequentialPlan(margin, alpha, power_flip_rate, decided)


def decide(plan: SequentialPlan, look: int, lost: int, gained: int) -> Stop:
    """What the look with index `look` says, from the items lost and gained among its first n."""
    at = plan.looks[look]
    if lost < 0 or gained < 0 or lost + gained > at.n:
        raise ValueError(f"{lost} lost and {gained} gained do not fit a look at {at.n} items.")
    statistic = float(tango.score(lost, gained, at.n, plan.margin))
    if _crosses(statistic, -1.0, at.ship_level):
        return Stop.SHIP
    return Stop.REJECT if _crosses(statistic, 1.0, at.reject_level) else Stop.GO_ON


def is_futile(plan: SequentialPlan, look: int, lost: int, gained: int) -> bool:
    """Whether a candidate without a drop would hardly look like this: to go on will not ship. Not a REJECT.

    Stopping here costs at most 2 % of power; not stopping costs nothing, since the other levels do not count on it.
    """
    at = plan.looks[look]
    return bool(_crosses(float(tango.score(lost, gained, at.n, plan.margin)), 1.0, at.futile_level))


def false_ship_rate(plan: SequentialPlan, flip_rate: float, drop: float) -> float:
    """Probability that any look ships, even if whoever runs it goes on against a REJECT or futility (exact)."""
    (ships,) = _stopped(plan, flip_rate, drop, [lambda at, z: _crosses(z, -1.0, at.ship_level)])
    return float(np.sum(ships))


def expected_items(plan: SequentialPlan, flip_rate: float, drop: float, *, futility: bool = False) -> float:
    """Average number of items until SHIP, REJECT (with `futility` also: until it is futile) or the end (exact)."""
    return course(plan, flip_rate, drop, futility=futility).items


def course(plan: SequentialPlan, flip_rate: float, drop: float, *, futility: bool = False) -> Course:
    """How runs end that stop at SHIP and REJECT, with `futility` also where it is futile (exact)."""
    rules: list[_Rule] = [
        lambda at, z: _crosses(z, -1.0, at.ship_level),
        lambda at, z: _crosses(z, 1.0, at.reject_level),
    ]
    if futility:
        rules.append(lambda at, z: _crosses(z, 1.0, at.futile_level))
    stopped = _stopped(plan, flip_rate, drop, rules)
    sizes = np.array([at.n for at in plan.looks], dtype=float)
    ends = np.sum(stopped, axis=1)
    left = max(0.0, 1.0 - float(np.sum(ends)))
    items = float(np.sum(stopped @ sizes)) + left * plan.n
    return Course(float(ends[0]), float(ends[1]), float(ends[2]) if futility else 0.0, left, items)


def items_for_margin(
    margin: float, flip_rate: float, gates: int = 1, alpha: float = 0.05, power: float = 0.80, looks: int = 5
) -> int | None:
    """Length of a plan by which a candidate with no true drop ships through all `gates` with joint `power`.

    A few percent too long at most. Takes seconds from 1,500 items on. None when more than 100,000 items would be needed
    without any early look.
    """
    fixed_n = power_of_tests.prompts_for_margin(margin, flip_rate, gates, alpha, power)
    if fixed_n is None:
        return None
    n, each = fixed_n, power ** (1.0 / gates)
    made = plan(n, margin, alpha, looks, flip_rate)
    reached = course(made, flip_rate, 0.0).ship
    if fixed_n > _MANY_ITEMS and 0.5 < reached < each:
        # Long plans take seconds to compute: first a jump as for a normal statistic tested at the last level.
        last, now, wanted = (tango.normal_quantile(q) for q in (1.0 - made.looks[-1].ship_level, reached, each))
        n = max(n, math.floor(0.97 * n * ((last + wanted) / (last + now)) ** 2))
    while course(plan(n, margin, alpha, looks, flip_rate), flip_rate, 0.0).ship < each:
        n += max(1, fixed_n // 50)
    return n


_Rule = Callable[[Look, Floats], NDArray[np.bool_]]


def _crosses(statistic: float | Floats, side: float, level: float) -> NDArray[np.bool_]:
    from scipy.special import ndtri

    return np.asarray(-side * np.asarray(statistic) < ndtri(level))


def _sizes(n: int, looks: int) -> list[int]:
    """Equal steps from the first look to n; looks that would fall together (few items) are one."""
    step = (1.0 - _FIRST_LOOK) / max(1, looks - 1)
    return sorted({math.ceil(n * (1.0 - step * k) - 1e-9) for k in range(looks)})


def _spent_share(time: float, shape: float) -> float:
    """Hwang, Shih and DeCani's family: the share of alpha spent by the time this share of the items is seen.

    shape: −4 spends late (O'Brien and Fleming), 1 early (Pocock), 0 evenly
    """
    return time if shape == 0.0 else float(np.expm1(-shape * time) / np.expm1(-shape))


def _stopped(plan: SequentialPlan, flip_rate: float, drop: float, rules: Sequence[_Rule]) -> Floats:
    """Probability to stop by each rule (rows, earlier rules first) at each look (columns)."""
    truth = [(flip_rate, drop)]
    found = np.zeros((len(rules), len(plan.looks)))
    lost, gained = _counts(plan.n, truth)
    alive, seen = np.ones((lost.size, gained.size)), 0
    for column, at in enumerate(plan.looks):
        alive, seen = _advance(alive, lost, gained, seen, at.n), at.n
        statistic = tango.score(lost, gained, at.n, plan.margin)
        (chances,) = _chances(lost, gained, at.n, truth)
        for row, rule in enumerate(rules):
            stops = rule(at, statistic)
            found[row, column] = np.sum((chances * alive)[stops])
            alive[stops] = 0.0
    return found


def _levels(
    sizes: Sequence[int],
    margin: float,
    truths: Sequence[tuple[float, float]],
    spent: Sequence[float],
    side: float,
    most: float,
) -> list[float]:
    """Nominal levels (at most `most`) with which, under every truth, the chance to have stopped stays within `spent`.

    side: −1 stops at small values of the statistic (ship), +1 at large ones
    """
    from scipy.special import ndtr, ndtri

    if not sizes:
        return []
    lost, gained = _counts(sizes[-1], truths)
    alive, seen = np.ones((lost.size, gained.size)), 0
    used = np.zeros(len(truths))
    levels = []
    for n, allowed in zip(sizes, spent, strict=True):
        alive, seen = _advance(alive, lost, gained, seen, n), n
        value = np.where(lost + gained <= n, -side * tango.score(lost, gained, n, margin), np.inf)
        candidates = np.flatnonzero(value < ndtri(most))
        candidates = candidates[np.argsort(value.ravel()[candidates], kind="stable")]
        ordered = np.append(value.ravel()[candidates], ndtri(most))
        sums = [np.cumsum((chances * alive).ravel()[candidates]) for chances in _chances(lost, gained, n, truths)]
        kept = min(int(np.searchsorted(s, allowed - u, side="right")) for s, u in zip(sums, used, strict=True))
        # Cells whose statistics are equal but for rounding stop together or not at all.
        while 0 < kept < candidates.size and ordered[kept] - ordered[kept - 1] < 1e-9:
            kept -= 1
        bound = 0.5 * (ordered[kept - 1] + ordered[kept]) if 0 < kept < candidates.size else ordered[kept]
        levels.append(float(ndtr(bound)) if kept else 0.0)
        stops = value < ndtri(levels[-1])
        used += [float(np.sum((chances * alive)[stops])) for chances in _chances(lost, gained, n, truths)]
        alive[stops] = 0.0
    return levels


def _counts(n: int, truths: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """The numbers of lost (a column) and gained items (a row) that can occur, but for a tail of 1e-11."""
    from scipy.stats import binom

    for flip_rate, drop in truths:
        if not abs(drop) <= flip_rate + 1e-12 or not flip_rate <= 1.0:
            raise ValueError(f"A drop of {drop} needs at least as many flips; the flip rate is {flip_rate}.")
    most_lost = max(binom.ppf(1.0 - _TAIL, n, (f + d) / 2.0) for f, d in truths)
    most_gained = max(binom.ppf(1.0 - _TAIL, n, max(0.0, f - d) / 2.0) for f, d in truths)
    return np.arange(most_lost + 1.0)[:, None], np.arange(most_gained + 1.0)[None, :]


def _advance(alive: Floats, lost: Floats, gained: Floats, seen: int, n: int) -> Floats:
    """From the chance not to have stopped, given the counts among the first `seen`, to that given those among `n`.

    Given the counts among k items, the k-th was a lost one with probability lost/k and so on, whatever the true rates
    are: the counts are sufficient. So one recursion holds for all rates, without a power of a rate in it.
    """
    if np.all(alive == 1.0):
        return alive
    for k in range(seen + 1, n + 1):
        following = alive * np.maximum(k - lost - gained, 0.0)
        following[1:] += lost[1:] * alive[:-1]
        following[:, 1:] += gained[:, 1:] * alive[:, :-1]
        following /= k
        alive = following
    return alive


def _chances(lost: Floats, gained: Floats, n: int, truths: Sequence[tuple[float, float]]) -> list[Floats]:
    """Trinomial probabilities of the counts under each truth."""
    from scipy.special import gammaln, xlogy

    same = n - lost - gained
    possible = same >= 0
    same = np.maximum(same, 0.0)
    ways = gammaln(n + 1.0) - gammaln(lost + 1.0) - gammaln(gained + 1.0) - gammaln(same + 1.0)
    found = []
    for flip_rate, drop in truths:
        up, down = (flip_rate + drop) / 2.0, max(0.0, flip_rate - drop) / 2.0
        logs = ways + xlogy(lost, up) + xlogy(gained, down) + xlogy(same, max(0.0, 1.0 - flip_rate))
        found.append(np.where(possible, np.exp(logs), 0.0))
    return found
