"""The ratio of two totals over the same units: how many more tokens do all answers together take?

The ratio estimator with its linearized variance (Cochran, Sampling Techniques, third edition 1977, sections 2.11 and
6.3), on the logarithm, with Student's t. Long units weigh more than short ones, as they do on a bill.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TotalRatio:
    """Σ candidate / Σ baseline. low, high: one-sided limits at 1 − alpha each; None with fewer than two units.

    half_width: of the interval of the logarithm; shrinks with the root of the number of units
    """

    ratio: float
    low: float | None
    high: float | None
    units: int
    half_width: float | None


def ratio(baseline: Sequence[float], candidate: Sequence[float], alpha: float = 0.05) -> TotalRatio:
    """Units (answers, or documents with several) are independent; sum what belongs together before.

    Raises ValueError for sides of different length, none, negative figures, or a total of 0.
    """
    from scipy.stats import t

    a, b = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    if len(a) != len(b) or len(a) == 0:
        raise ValueError(f"Units come in pairs, found {len(a)} and {len(b)}.")
    if (a < 0).any() or (b < 0).any() or a.sum() == 0 or b.sum() == 0:
        raise ValueError("A ratio of totals needs figures that are not negative, and both totals above 0.")
    units, value = len(a), float(b.sum() / a.sum())
    if units < 2:
        return TotalRatio(value, None, None, units, None)
    # d log(Σb/Σa) = Σ (b_i/Σb − a_i/Σa): its terms sum to 0.
    terms = b / b.sum() - a / a.sum()
    deviation = math.sqrt(units / (units - 1) * float((terms**2).sum()))
    half = float(t.ppf(1.0 - alpha, units - 1)) * deviation
    return TotalRatio(value, value * math.exp(-half), value * math.exp(half), units, half)
