"""Tango's score interval for the difference of two paired proportions (Statistics in Medicine 1998, 17:891-908).

`lost` counts the items that the baseline answered right and the candidate wrong, `gained` the opposite, `n` all
paired items. The difference is the drop: (lost − gained) / n, positive = the candidate is worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DropLimits:
    """The drop and its limits (fractions), each one-sided at 1 − `alpha`."""

    drop: float
    low: float
    high: float
    alpha: float


def score(lost: ArrayLike, gained: ArrayLike, n: ArrayLike, drop: ArrayLike) -> Array:
    """The score statistic for H0: true drop = `drop` (−1 < drop < 1), standard normal under H0; broadcasts.

    Large values speak for a larger drop than the hypothesis. (b − c − nδ) / √(n(2q̃ + δ(1 − δ))), with q̃ the
    probability of a gain that is most likely under H0. Where the variance under H0 is zero (no flip possible), the
    statistic is 0 when the data agree with H0.
    """
    b, c = np.asarray(lost, dtype=float), np.asarray(gained, dtype=float)
    size, delta = np.asarray(n, dtype=float), np.asarray(drop, dtype=float)
    linear = -b - c + (2.0 * size - b + c) * delta
    constant = -c * delta * (1.0 - delta)
    root = np.sqrt(np.maximum(linear * linear - 8.0 * size * constant, 0.0))
    # The numerically stable one of the two equal forms of the root, by the sign of the linear term.
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(linear > 0, -2.0 * constant / (root + linear), (root - linear) / (4.0 * size))
        gain = np.clip(np.nan_to_num(gain), np.maximum(0.0, -delta), 1.0)
        variance = np.maximum(size * (2.0 * gain + delta * (1.0 - delta)), 0.0)
        distance = b - c - size * delta
        statistic = distance / np.sqrt(variance)
    return np.where(np.abs(distance) < 1e-12 * size, 0.0, statistic)


def limits(lost: int, gained: int, n: int, alpha: float = 0.05) -> DropLimits:
    """The drop with its lower and upper limit, each one-sided at 1 − `alpha`, by inverting the score test.

    Zero flips give ± z²/(n + z²), at 95 % 2.71/(n + 2.71). Raises ValueError for counts that do not fit.
    """
    if n < 1 or lost < 0 or gained < 0 or lost + gained > n:
        raise ValueError(f"{lost} lost and {gained} gained of {n} do not fit.")
    z = normal_quantile(1.0 - alpha)
    drop = (lost - gained) / n
    return DropLimits(drop, -_upper(gained, lost, n, z), _upper(lost, gained, n, z), alpha)


def _upper(lost: int, gained: int, n: int, z: float) -> float:
    """The largest drop that is not rejected: the statistic falls with the drop, so bisect to double precision."""
    inside, outside = (lost - gained) / n, 1.0
    if inside >= 1.0:
        return 1.0
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if float(score(lost, gained, n, middle)) > -z:
            inside = middle
        else:
            outside = middle
    return inside


def p_worse(lost: int, gained: int, n: int, margin: float) -> float:
    """One-sided p-value against H0: true drop ≤ margin. Small = the drop is larger than the margin."""
    from scipy.special import ndtr

    return float(ndtr(-score(lost, gained, n, margin)))


def normal_quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))
