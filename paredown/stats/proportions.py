"""Limits of a share that were counted: right or wrong, kept or missed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProportionLimits:
    """Each one-sided at the confidence asked for."""

    low: float
    high: float


def exact_limits(successes: int, count: int, confidence: float = 0.95) -> ProportionLimits:
    """Clopper and Pearson's limits of a binomial share (Biometrika 1934, 26:404-413), each one-sided.

    With every one of n a success the lower limit is (1 − confidence)^(1/n): 3 of 3 bound a share at 37 % only.
    Raises ValueError unless 0 ≤ successes ≤ count and count ≥ 1.
    """
    from scipy.stats import beta

    if not 0 <= successes <= count or count < 1:
        raise ValueError(f"{successes} of {count} is no share.")
    low = float(beta.ppf(1.0 - confidence, successes, count - successes + 1)) if successes > 0 else 0.0
    high = float(beta.ppf(confidence, successes + 1, count - successes)) if successes < count else 1.0
    return ProportionLimits(low, high)
