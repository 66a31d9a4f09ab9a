"""Exact unconditional power of the paired tests, and how many prompts they need.

n paired items are trinomial: an item is lost with probability (f + δ)/2, gained with (f − δ)/2, unchanged else (f the
flip rate, δ the true drop). Given the number of flips m ~ Binomial(n, f), the lost ones are Binomial(m, (f + δ)/2f),
and each test decides by a threshold on them: so the sum over the whole trinomial is a sum over m alone. Nothing is
approximated but tails below 1e-10.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from paredown.stats import mcnemar, tango

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_TAIL = 1e-10
_MOST_PROMPTS = 100_000
_EXACT_PROMPTS = 4_000
"""Beyond so many prompts the score test's normal approximation is as good as the enumeration (within 1 %)."""
_TOLERATED = 1.1
"""A false-ship rate of 1.1 × the nominal level is allowed: 5.5 % at 5 % (measurement rules, section 4)."""


def ship_probability(n: int, margin: float, flip_rate: float, drop: float, level: float = 0.05) -> float:
    """Probability that Tango's upper limit at one-sided `level` lies below the margin. At drop = margin: the size."""
    return _probability(n, flip_rate, drop, lambda m: _largest_lost(m, n, margin, level), at_most=True)


def reject_probability(n: int, margin: float, flip_rate: float, drop: float, level: float = 0.05) -> float:
    """Probability that Tango's lower limit at one-sided `level` lies above the margin."""
    # The mirror image: the gain is at least −margin, that is "non-inferior" with lost and gained exchanged.
    return _probability(n, flip_rate, -drop, lambda m: _largest_lost(m, n, -margin, level), at_most=True)


def detect_probability(n: int, flip_rate: float, drop: float, level: float = 0.05) -> float:
    """Probability that the one-sided mid-p McNemar test at `level` sees the drop."""
    return _probability(n, flip_rate, drop, lambda m: _smallest_detected(m, level), at_most=False)


def _probability(
    n: int, flip_rate: float, drop: float, threshold: Callable[[Integers], Integers], *, at_most: bool
) -> float:
    from scipy.stats import binom

    if not abs(drop) <= flip_rate + 1e-12 or not flip_rate <= 1.0:
        raise ValueError(f"A drop of {drop} needs at least as many flips; the flip rate is {flip_rate}.")
    if flip_rate == 0.0:
        m, weight, share = np.zeros(1, dtype=np.int64), np.ones(1), 0.0
    else:
        m = _flip_range(n, flip_rate)
        weight, share = binom.pmf(m, n, flip_rate), min(1.0, (flip_rate + drop) / (2.0 * flip_rate))
    limit = threshold(m)
    chance = binom.cdf(limit, m, share) if at_most else binom.sf(limit - 1, m, share)
    return float(np.sum(weight * chance))


def _flip_range(n: int, flip_rate: float) -> Integers:
    from scipy.stats import binom

    low, high = binom.ppf([_TAIL, 1.0 - _TAIL], n, flip_rate)
    return np.arange(int(low), int(high) + 1, dtype=np.int64)


def _largest_lost(m: Integers, n: int, margin: float, level: float) -> Integers:
    """For each number of flips the largest number of lost ones that still ships; −1 where none does."""
    z = tango.normal_quantile(1.0 - level)
    return _last_true(m, lambda lost: tango.score(lost, m - lost, n, margin) < -z)


def _smallest_detected(m: Integers, level: float) -> Integers:
    """For each number of flips the smallest number of lost ones that the test detects; m + 1 where none does."""
    one_sided = 2.0 * level
    missed = _last_true(m, lambda lost: (2 * lost <= m) | (mcnemar.mid_p_values(lost, m - lost) > one_sided))
    return missed + 1


def _last_true(m: Integers, holds: Callable[[Integers], NDArray[np.bool_]]) -> Integers:
    """Largest k in 0…m for which `holds` (true up to some k, false beyond) is true; −1 where it is false at 0."""
    inside, outside = np.full_like(m, -1), m + 1
    while np.any(outside - inside > 1):
        middle = (inside + outside) // 2
        open_yet = outside - inside > 1
        true = holds(np.clip(middle, 0, m)) & open_yet
        inside = np.where(true, middle, inside)
        outside = np.where(open_yet & ~true, middle, outside)
    return inside


@functools.lru_cache(maxsize=4096)
def non_inferiority_level(n: int, margin: float, alpha: float = 0.05) -> float:
    """The nominal one-sided level at which Tango's test of this margin ships a bad candidate in ≤ 1.1 α of cases.

    Tango's nominal level is not kept everywhere (margin 5 points, flips 5 %, n = 118: 6.2 % at 5 %). The true
    false-ship rate, at a drop of exactly the margin, is enumerated over flip rates from the margin to 20 % (one point
    more when the margin itself is larger); where its worst exceeds 1.1 α, the largest level is taken that keeps it.
    Returns at most `alpha`.
    """
    flip_rates = np.linspace(margin, min(1.0, max(0.20, margin * 1.05)), 46)
    allowed = _TOLERATED * alpha
    if _worst_size(n, margin, flip_rates, alpha) <= allowed:
        return alpha
    kept, broken = 0.0, alpha
    while broken - kept > 0.002 * alpha:
        middle = 0.5 * (kept + broken)
        if _worst_size(n, margin, flip_rates, middle) <= allowed:
            kept = middle
        else:
            broken = middle
    return kept


def _worst_size(n: int, margin: float, flip_rates: Floats, level: float) -> float:
    from scipy.special import bdtr
    from scipy.stats import binom

    low, high = int(binom.ppf(_TAIL, n, flip_rates[0])), int(binom.ppf(1.0 - _TAIL, n, flip_rates[-1]))
    m = np.arange(low, high + 1, dtype=np.int64)
    lost = _largest_lost(m, n, margin, level)
    m, lost = m[lost >= 0], lost[lost >= 0]
    share = np.minimum(1.0, (flip_rates + margin) / (2.0 * flip_rates))[:, None]
    sizes = binom.pmf(m[None, :], n, flip_rates[:, None]) * bdtr(lost[None, :].astype(float), m[None, :], share)
    return float(np.max(np.sum(sizes, axis=1)))


def prompts_needed(
    lost: int, gained: int, n: int, margin: float, alpha: float = 0.05, power: float = 0.80
) -> int | None:
    """How many further prompts would decide (SHIP or REJECT) with probability `power`, if the rates seen go on.

    The flip rate is taken as (flips + 1)/(n + 2), so that no flips among few prompts are not read as none ever, the
    true drop as the one observed. Never fewer than it takes when exactly the observed shares repeat. None when more
    than 100,000 prompts would be needed: the true difference seems to lie at the margin, and no number of prompts
    tells on which side. Raises ValueError without any prompt.
    """
    if n < 1:
        raise ValueError("Without a prompt nothing is known of the flips.")
    drop = (lost - gained) / n
    flip_rate = max((lost + gained + 1) / (n + 2), abs(drop))
    if drop == margin:
        return None
    # The statistic grows with the root of the number of prompts when the shares repeat.
    statistic = float(tango.score(lost, gained, n, margin))
    repeated = math.ceil(n * (tango.normal_quantile(1.0 - alpha) / statistic) ** 2)
    if drop < margin:
        total = _smallest_n(
            lambda size: ship_probability(size, margin, flip_rate, drop, alpha), margin, flip_rate, drop, alpha, power
        )
    else:
        total = _smallest_n(
            lambda size: reject_probability(size, margin, flip_rate, drop, alpha), margin, flip_rate, drop, alpha, power
        )
    if total is None or repeated > _MOST_PROMPTS:
        return None
    return max(total, repeated, n + 1) - n


def prompts_for_margin(
    margin: float, flip_rate: float, gates: int = 1, alpha: float = 0.05, power: float = 0.80
) -> int | None:
    """Prompts a gate needs so that a candidate with no true drop ships through all `gates` with joint `power`.

    None when more than 100,000 would be needed.
    """
    each = power ** (1.0 / gates)
    return _smallest_n(
        lambda size: ship_probability(size, margin, flip_rate, 0.0, alpha), margin, flip_rate, 0.0, alpha, each
    )


def smallest_visible_drop(n: int, flip_rate: float, alpha: float = 0.05, power: float = 0.80) -> float | None:
    """The smallest true drop that n prompts would show (one-sided mid-p McNemar at `alpha`) with that `power`.

    A drop larger than the flip rate brings its own flips. None when even the loss of every item would not show.
    """

    def seen(drop: float) -> bool:
        return detect_probability(n, max(flip_rate, drop), drop, alpha) >= power

    if not seen(1.0):
        return None
    hidden, visible = 0.0, 1.0
    while visible - hidden > 0.0005:
        middle = 0.5 * (hidden + visible)
        hidden, visible = (hidden, middle) if seen(middle) else (middle, visible)
    return visible


def _smallest_n(
    reached: Callable[[int], float], margin: float, flip_rate: float, drop: float, alpha: float, power: float
) -> int | None:
    """The smallest n from which on the probability stays at `power` or above (it moves in a sawtooth)."""
    estimate = _normal_n(margin, flip_rate, drop, alpha, power)
    if estimate > _MOST_PROMPTS:
        return None
    if estimate > _EXACT_PROMPTS:
        return math.ceil(estimate)
    high = max(8, math.ceil(estimate))
    while reached(high) < power:
        high = math.ceil(1.1 * high) + 1
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    beyond = range(high + 1, math.ceil(1.04 * high) + 2)
    return max((size + 1 for size in beyond if reached(size) < power), default=high)


def _normal_n(margin: float, flip_rate: float, drop: float, alpha: float, power: float) -> float:
    """Sample size of the score test with its variance under H0 and under the truth, both for large n."""
    lost, gained = (flip_rate + drop) / 2.0, (flip_rate - drop) / 2.0
    distance = abs(margin - drop)
    deviation_h0 = distance / abs(float(tango.score(lost, gained, 1.0, margin)))
    deviation = math.sqrt(max(0.0, flip_rate - drop * drop))
    reach = tango.normal_quantile(1.0 - alpha) * deviation_h0 + tango.normal_quantile(power) * deviation
    return (reach / distance) ** 2
