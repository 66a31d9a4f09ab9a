"""Stopping early on paired right/wrong items without breaking the error rates: a group-sequential plan.

A plan is fixed before the first item: looks at 30 % of the items and in equal steps up to all of them. At each look
Tango's score statistic decides, at a nominal level that is stricter than alpha. The levels come from alpha spending
(Lan and DeMets 1983, Biometrika 70:659; the family of Hwang, Shih and DeCani 1990; Jennison and Turnbull 2000): the
chance to have shipped by a look, at a true drop of exactly the margin, is the alpha spent by then and no more, for
every flip rate from the margin to 20 %. It is enumerated over the trinomial of lost, gained and unchanged items, so
neither Tango's approximation nor the unknown flip rate adds to it. Beyond 20 % of flips the statistic is normal: no
level may spend more than a normal one either (`spending`), nor, with 200 items or fewer, at flips of 25 to 100 %.
Plans of more than 1,500 items are made from the normal statistic alone, their REJECT from exact single looks.
SHIP and REJECT are each computed as if the other did not stop the run: neither has to be obeyed for the other to hold.
Never laxer than Tango's limit at alpha, so the interval printed beside a SHIP agrees with it.

Spending is even for SHIP (early spending costs power) and early for REJECT (Pocock-like; its power is not promised).

Figures (alpha 4 %, 5 looks; `benchmarks/bench_false_ship.py` and `bench_sequential.py`):

- At the n that `items_for_margin` gives (margins 2, 3 and 5 points, 3 and 5 % of flips) an unharmed candidate ships
  through 1, 3 and 7 gates together with 80 to 82 %, futility obeyed (exact). These are 16 to 21 % more prompts than
  the fixed test takes; the savings below are of the longer plan against the shorter test.
- Prompts saved, margin 5 points, 5 % flips, whole confirmations (a gate that has shipped is not asked any more): one
  gate 24 % on clearly good candidates (drop 0, −1 point), 59 % on clearly bad ones (2, 3 margins), 41 % on both
  together; three gates 35, 64 and 50 %. So 40 % are saved on good and bad together, not on good ones alone with few
  gates: Wald's sequential ratio test, which has no last item, would save 38, 47 and 55 % at drop 0 (one, three, seven
  gates; normal approximation). Bad ones end mostly by futility (`is_futile`); until REJECT it takes more.
- A test by betting (Waudby-Smith and Ramdas 2024, JRSS B 86:1; a mixture of seven fixed bets), valid at any time and
  looking after every item, saves no more at the same n (10–43 % where the plan saves 16–45 %) but ships only 80–82 %
  (seven gates) and 40–49 % (one) of good candidates where the plan ships 94–95 and 68–73 %. Hence the plan.
"""

from __future__ import annotations

import enum
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paredown.stats import power as power_of_tests
from paredown.stats import spending, tango
from paredown.stats.spending import NormalWalk, Rule

Floats = NDArray[np.float64]

LOOKS = 5

_RATES = 46
_FEW_ITEMS = 200
_MANY_FLIPS = (0.25, 0.35, 0.5, 0.7, 0.9, 1.0)
"""With few items the statistic is not normal even where most of them flip."""
_FIRST_LOOK = 0.3
_MOST_FUTILE = 0.9
_MOST_ITEMS = 100_000
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


def plan(
    n: int, margin: float, alpha: float, looks: int = LOOKS, power_flip_rate: float = 0.05, gates: int = 1
) -> SequentialPlan:
    """As `plan_at`, with `looks` looks, the first at 30 % of `n` items and the last at all."""
    return plan_at(look_sizes(n, looks), margin, alpha, gates, power_flip_rate)


@functools.lru_cache(maxsize=1024)
def plan_at(
    sizes: tuple[int, ...], margin: float, alpha: float, gates: int = 1, power_flip_rate: float = 0.05
) -> SequentialPlan:
    """The levels of looks at the first `sizes` items (rising; the last is all).

    gates: how many gates one run decides on; REJECT is at alpha / gates (the first step of Holm), and all futility
           rules together cost 2 % of power
    power_flip_rate: the flips expected of a good candidate, at which the futility rule may cost that power
    Raises ValueError for figures that do not fit.
    """
    if not 0.0 < margin < 1.0 or not 0.0 < alpha < 0.5 or not 0.0 < power_flip_rate <= 1.0 or gates < 1:
        raise ValueError(
            f"No plan for margin {margin}, alpha {alpha}, gates {gates}, power_flip_rate {power_flip_rate}; expected "
            "a margin and a flip rate between 0 and 1, an alpha below one half, and 1 gate or more."
        )
    if not sizes or sizes[0] < 1 or any(a >= b for a, b in itertools.pairwise(sizes)):
        raise ValueError(f"No plan for looks at {sizes} items; expected rising numbers from 1 on.")
    ship = _levels(sizes, margin, alpha, -1.0)
    reject = reject_levels(sizes, margin, alpha / gates)
    futile = _futile_levels(sizes, margin, power_flip_rate, _FUTILITY_LOSS / gates)
    decided = tuple(Look(*each) for each in zip(sizes, ship, reject, futile, strict=True))
    return SequentialPlan(margin, alpha, power_flip_rate, decided)


def look_sizes(n: int, looks: int = LOOKS) -> tuple[int, ...]:
    """Equal steps from 30 % of n items to all; looks that would fall together (few items) are one."""
    if n < 1 or looks < 1:
        raise ValueError(f"No plan for n = {n} items and {looks} looks; expected 1 or more of both.")
    step = (1.0 - _FIRST_LOOK) / max(1, looks - 1)
    return tuple(sorted({math.ceil(n * (1.0 - step * k) - 1e-9) for k in range(looks)}))


@functools.lru_cache(maxsize=1024)
def reject_levels(sizes: tuple[int, ...], margin: float, alpha: float) -> tuple[float, ...]:
    """The levels at which the looks reject: a candidate within the margin is rejected with at most `alpha`."""
    if sizes[-1] <= spending.MANY_ITEMS:
        return tuple(_levels(sizes, margin, alpha, 1.0))
    return tuple(_separate_reject_levels(sizes, margin, alpha))


def _levels(sizes: tuple[int, ...], margin: float, alpha: float, side: float) -> list[float]:
    shape = _SHIP_SHAPE if side < 0.0 else _REJECT_SHAPE
    rates = [float(rate) for rate in np.linspace(margin, min(1.0, max(0.20, margin * 1.05)), _RATES)]
    if sizes[-1] <= _FEW_ITEMS:
        rates += [rate for rate in _MANY_FLIPS if rate > rates[-1]]
    truths = tuple((rate, margin) for rate in rates)
    spent = tuple(alpha * _spent_share(size / sizes[-1], shape) for size in sizes)
    return spending.levels(sizes, margin, Rule(truths, spent, side, alpha, any_flips=True))


def _separate_reject_levels(sizes: tuple[int, ...], margin: float, alpha: float) -> list[float]:
    """Each look by itself, exactly; what they stop is added up as if no run stopped twice.

    For many items, where the normal statistic would do but for rare losses, whose number is skewed.
    """
    rates, before = (1.0, 1.3, 2.0, 4.0), 0.0
    found: list[float] = []
    for n in sizes:
        spent = alpha * _spent_share(n / sizes[-1], _REJECT_SHAPE)
        low, high = 0.01 * (spent - before), alpha
        for _ in range(14):
            level = math.sqrt(low * high)
            used = [
                power_of_tests.reject_probability(n, margin, min(1.0, rate * margin), margin, level) for rate in rates
            ]
            low, high = (low, level) if max(used) > spent - before else (level, high)
        found.append(low)
        before = spent
    return found


def _futile_levels(sizes: tuple[int, ...], margin: float, flip_rate: float, loss: float) -> list[float]:
    """As for a normal statistic under no drop; spent evenly, none at the last look."""
    from scipy.special import ndtr, ndtri

    under, walk, found = _Normalized.of(margin, flip_rate, 0.0), NormalWalk(), []
    for n in sizes[:-1]:
        centred = walk.bound(float(n), loss * n / sizes[-1])
        bound = min(under.width * centred - under.shift * n**0.5, float(ndtri(_MOST_FUTILE)))
        walk.stop_outside((bound + under.shift * n**0.5) / under.width)
        found.append(float(ndtr(bound)))
    return [*found, 0.0]


@dataclass(frozen=True)
class _Normalized:
    """Tango's statistic under a truth for large n: `shift` × √n + `width` × a standard normal."""

    shift: float
    width: float

    @staticmethod
    def of(margin: float, flip_rate: float, drop: float) -> _Normalized:
        lost, gained = (flip_rate + drop) / 2.0, (flip_rate - drop) / 2.0
        shift = float(tango.score(lost, gained, 1.0, margin))
        spread = abs((drop - margin) / shift) if shift else math.sqrt(max(flip_rate - margin * margin, 1e-12))
        return _Normalized(shift, math.sqrt(max(flip_rate - drop * drop, 1e-12)) / spread)


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
    return false_ship_rates(plan, [(flip_rate, drop)])[0]


def false_ship_rates(plan: SequentialPlan, truths: Sequence[tuple[float, float]]) -> list[float]:
    """As `false_ship_rate`, for many truths (flip rate, drop) in one go."""
    (ships,) = _stopped(plan, truths, [lambda at, z: _crosses(z, -1.0, at.ship_level)])
    return [float(each) for each in np.sum(ships, axis=0)]


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
    stopped = _stopped(plan, [(flip_rate, drop)], rules)[:, :, 0]
    sizes = np.array([at.n for at in plan.looks], dtype=float)
    ends = np.sum(stopped, axis=1)
    left = max(0.0, 1.0 - float(np.sum(ends)))
    items = float(np.sum(stopped @ sizes)) + left * plan.n
    return Course(float(ends[0]), float(ends[1]), float(ends[2]) if futility else 0.0, left, items)


@functools.lru_cache(maxsize=64)
def items_for_margin(
    margin: float, flip_rate: float, gates: int = 1, alpha: float = 0.05, power: float = 0.80, looks: int = LOOKS
) -> int | None:
    """Length of a plan by which a candidate with no true drop ships through all `gates` with joint `power`.

    With the futility rule obeyed. A few percent too long at most; takes about a second. None when more than 100,000
    items would be needed.
    """
    each = power ** (1.0 / gates)
    n = _items_by_normal(margin, flip_rate, gates, alpha, each, looks)
    if n is None or n > spending.MANY_ITEMS:
        return n
    n = math.floor(0.95 * n)
    while n <= spending.MANY_ITEMS:
        sizes = look_sizes(n, looks)
        ship = _levels(sizes, margin, alpha, -1.0)
        futile = _futile_levels(sizes, margin, flip_rate, _FUTILITY_LOSS / gates)
        # What would reject is futile long before, so the levels of REJECT (half of the work) change nothing here.
        decided = tuple(Look(*four) for four in zip(sizes, ship, [0.0] * len(ship), futile, strict=True))
        if course(SequentialPlan(margin, alpha, flip_rate, decided), flip_rate, 0.0, futility=True).ship >= each:
            return n
        n += max(1, n // 40)
    return n


def _items_by_normal(margin: float, flip_rate: float, gates: int, alpha: float, each: float, looks: int) -> int | None:
    """As `items_for_margin`, for a normal statistic: its levels depend on the shares of the items alone."""
    sizes = look_sizes(_MOST_ITEMS, looks)
    spent = tuple(alpha * _spent_share(size / sizes[-1], _SHIP_SHAPE) for size in sizes)
    levels = spending.levels(sizes, margin, Rule((), spent, -1.0, alpha, any_flips=True))

    def reached(n: int) -> float:
        at = look_sizes(n, looks)
        if len(at) < len(levels):
            return 0.0
        futile = _futile_levels(at, margin, flip_rate, _FUTILITY_LOSS / gates)
        decided = tuple(Look(*four) for four in zip(at, levels, levels, futile, strict=True))
        return _ship_chance(SequentialPlan(margin, alpha, flip_rate, decided), flip_rate)

    if reached(_MOST_ITEMS) < each:
        return None
    low, high = 1, _MOST_ITEMS
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= each else (middle, high)
    return high


def _ship_chance(plan: SequentialPlan, flip_rate: float) -> float:
    """Probability that a candidate without a drop ships, as for a normal statistic; SHIP and futility stop the run."""
    from scipy.special import ndtri

    under, walk, ships = _Normalized.of(plan.margin, flip_rate, 0.0), NormalWalk(), 0.0
    for at in plan.looks:
        moved = under.shift * at.n**0.5
        low = (float(ndtri(at.ship_level)) - moved) / under.width
        high = (-float(ndtri(at.futile_level)) - moved) / under.width
        walk.go_to(float(at.n))
        ships += walk.below(low)
        walk.stop_outside(low, max(low, high))
    return ships


_Rule = Callable[[Look, Floats], NDArray[np.bool_]]


def _crosses(statistic: float | Floats, side: float, level: float) -> NDArray[np.bool_]:
    from scipy.special import ndtri

    return np.asarray(-side * np.asarray(statistic) < ndtri(level))


def _spent_share(time: float, shape: float) -> float:
    """Hwang, Shih and DeCani's family: the share of alpha spent by the time this share of the items is seen.

    shape: −4 spends late (O'Brien and Fleming), 1 early (Pocock), 0 evenly
    """
    return time if shape == 0.0 else float(np.expm1(-shape * time) / np.expm1(-shape))


def _stopped(plan: SequentialPlan, truths: Sequence[tuple[float, float]], rules: Sequence[_Rule]) -> Floats:
    """Probability to stop by each rule (axis 0, earlier rules first) at each look (1) under each truth (2)."""
    found = np.zeros((len(rules), len(plan.looks), len(truths)))
    lost, gained = spending.counts(plan.n, truths)
    alive, seen = np.ones((lost.size, gained.size)), 0
    for column, at in enumerate(plan.looks):
        alive, seen = spending.advance(alive, lost, gained, seen, at.n), at.n
        statistic = tango.score(lost, gained, at.n, plan.margin)
        given = spending.chances(lost, gained, at.n, truths)
        for row, rule in enumerate(rules):
            stops = rule(at, statistic)
            found[row, column] = [np.sum((chances * alive)[stops]) for chances in given]
            alive[stops] = 0.0
    return found
