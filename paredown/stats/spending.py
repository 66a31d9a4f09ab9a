"""Levels of the looks of a group-sequential plan by alpha spending (Lan and DeMets 1983, Biometrika 70:659).

Exactly, over the trinomial of lost, gained and unchanged items, for given flip rates; and as for a normal statistic
(Armitage, McPherson and Rowe 1969, JRSS A 132:235), which holds at any flip rate when there are many flips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paredown.stats import tango

Floats = NDArray[np.float64]

_TAIL = 1e-11
_POINTS = 301
_FAR = 9.0
_ROOT_2_PI = (2.0 * np.pi) ** 0.5
MANY_ITEMS = 1_500
"""Beyond so many items only the normal statistic counts: the enumeration takes seconds, and changes little."""
MANY_FLIPS_TOLERANCE = 1.0
"""Of the alpha spent: what may be spent where flips are many, so that the normal statistic holds."""


@dataclass(frozen=True)
class Rule:
    """What a boundary must keep.

    spent: by each look, the largest chance to have stopped, under every truth (flip rate, drop)
    side:  −1 stops at small values of Tango's statistic, +1 at large ones
    most:  no nominal level is laxer
    any_flips: keep it for flip rates beyond the truths too
    """

    truths: tuple[tuple[float, float], ...]
    spent: tuple[float, ...]
    side: float
    most: float
    any_flips: bool


def levels(sizes: Sequence[int], margin: float, rule: Rule) -> list[float]:
    """The nominal one-sided level of each look; where nothing may stop, one so strict that nothing does."""
    from scipy.special import ndtr, ndtri

    if not sizes:
        return []
    exact = _Exact(sizes, margin, rule) if sizes[-1] <= MANY_ITEMS else None
    normal = NormalWalk() if exact is None or rule.any_flips else None
    found = []
    for n, allowed in zip(sizes, rule.spent, strict=True):
        bound = float(ndtri(rule.most))
        if exact is not None:
            bound = min(bound, exact.bound(n, allowed))
        if normal is not None:
            bound = min(bound, normal.bound(float(n), allowed * (MANY_FLIPS_TOLERANCE if exact else 1.0)))
        if exact is not None:
            exact.stop_below(bound)
        if normal is not None:
            normal.stop_outside(bound)
        found.append(float(ndtr(bound)))
    return found


class NormalWalk:
    """A sum of independent standard normal increments, one for each unit of time, that has not been stopped."""

    def __init__(self) -> None:
        self._at, self._mass, self._time, self._used = np.zeros(1), np.ones(1), 0.0, 0.0
        self._next = 0.0

    def bound(self, time: float, allowed: float) -> float:
        """Go to `time`; the largest sum / √time below which to stop makes the chance to have stopped `allowed`."""
        self._next = time
        low, high = -_FAR, _FAR
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._used + self.below(middle) > allowed else (middle, high)
        return low

    def go_to(self, time: float) -> None:
        self._next = time

    def below(self, bound: float) -> float:
        """The chance to be below `bound` now (in units of √time), not having been stopped before."""
        from scipy.special import ndtr

        spread = (self._next - self._time) ** 0.5
        return float(self._mass @ ndtr((bound * self._next**0.5 - self._at) / spread))

    @property
    def alive(self) -> float:
        return float(np.sum(self._mass))

    def stop_outside(self, low: float, high: float = _FAR) -> None:
        """Stop what is below `low` or above `high`."""
        self._used += self.below(low)
        spread = (self._next - self._time) ** 0.5
        low, high = max(low, -_FAR), min(high, _FAR)
        if high <= low:
            self._at, self._mass, self._time = np.zeros(1), np.zeros(1), self._next
            return
        points, step = np.linspace(low * self._next**0.5, high * self._next**0.5, _POINTS, retstep=True)
        away = (points[:, None] - self._at[None, :]) / spread
        density = np.exp(-0.5 * away * away) @ self._mass / (spread * _ROOT_2_PI)
        density[0], density[-1] = 0.5 * density[0], 0.5 * density[-1]
        self._at, self._mass, self._time = points, density * step, self._next


class _Exact:
    """The chance not to have been stopped at each pair of counts, and what each truth has used."""

    def __init__(self, sizes: Sequence[int], margin: float, rule: Rule) -> None:
        self._margin, self._rule = margin, rule
        self._lost, self._gained = counts(sizes[-1], rule.truths)
        self._alive, self._seen = np.ones((self._lost.size, self._gained.size)), 0
        self._used = np.zeros(len(rule.truths))

    def bound(self, n: int, allowed: float) -> float:
        """The largest value below which to stop spends at most `allowed` under every truth."""
        from scipy.special import ndtri

        most = float(ndtri(self._rule.most))
        self._alive, self._seen = advance(self._alive, self._lost, self._gained, self._seen, n), n
        statistic = -self._rule.side * tango.score(self._lost, self._gained, n, self._margin)
        self._value = np.where(self._lost + self._gained <= n, statistic, np.inf)
        self._chances = chances(self._lost, self._gained, n, self._rule.truths)
        candidates = np.flatnonzero(self._value < most)
        candidates = candidates[np.argsort(self._value.ravel()[candidates], kind="stable")]
        ordered = np.append(self._value.ravel()[candidates], most)
        sums = [np.cumsum((chance * self._alive).ravel()[candidates]) for chance in self._chances]
        kept = min(int(np.searchsorted(s, allowed - u, side="right")) for s, u in zip(sums, self._used, strict=True))
        # Cells whose statistics are equal but for rounding stop together or not at all.
        while 0 < kept < candidates.size and ordered[kept] - ordered[kept - 1] < 1e-9:
            kept -= 1
        if kept == candidates.size:
            return most
        return float(0.5 * (ordered[kept - 1] + ordered[kept]) if kept else ordered[0] - 1e-6)

    def stop_below(self, bound: float) -> None:
        stops = self._value < bound
        self._used += [float(np.sum((chance * self._alive)[stops])) for chance in self._chances]
        self._alive[stops] = 0.0


def counts(n: int, truths: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """The numbers of lost (a column) and gained items (a row) that can occur, but for a tail of 1e-11."""
    from scipy.stats import binom

    for flip_rate, drop in truths:
        if not abs(drop) <= flip_rate + 1e-12 or not flip_rate <= 1.0:
            raise ValueError(f"A drop of {drop} needs at least as many flips; the flip rate is {flip_rate}.")
    most_lost = max(binom.ppf(1.0 - _TAIL, n, (f + d) / 2.0) for f, d in truths)
    most_gained = max(binom.ppf(1.0 - _TAIL, n, max(0.0, f - d) / 2.0) for f, d in truths)
    return np.arange(most_lost + 1.0)[:, None], np.arange(most_gained + 1.0)[None, :]


def advance(alive: Floats, lost: Floats, gained: Floats, seen: int, n: int) -> Floats:
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


def chances(lost: Floats, gained: Floats, n: int, truths: Sequence[tuple[float, float]]) -> list[Floats]:
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
