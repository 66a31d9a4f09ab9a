"""Is a score better than guessing? Exact for right-or-wrong items whose chances differ (Poisson binomial)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def p_above_chance(right: int, chances: Sequence[float]) -> float:
    """One-sided p-value of `right` or more right answers when each item is guessed right with its own chance.

    The distribution of the sum of independent Bernoulli variables, by convolution (Hong, Computational Statistics
    and Data Analysis 2013, 59:41-51); exact, O(n²). No items give 1.
    """
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.append(distribution, 0.0) * (1.0 - chance) + np.append(0.0, distribution) * chance
    return float(min(1.0, np.sum(distribution[right:])))


def p_mean_above_chance(scores: Sequence[float], chances: Sequence[float]) -> float:
    """One-sided p-value of graded scores against their chance levels (paired t). Fewer than two items give 1."""
    from scipy.special import stdtr

    differences = np.asarray(scores, dtype=float) - np.asarray(chances, dtype=float)
    if len(differences) < 2:
        return 1.0
    mean, error = float(np.mean(differences)), float(np.std(differences, ddof=1)) / len(differences) ** 0.5
    if error == 0.0:
        return 0.0 if mean > 0 else 1.0
    return float(stdtr(len(differences) - 1, -mean / error))


def p_above(scores: Sequence[float], chances: Sequence[float]) -> float:
    """The exact p-value where every score is right or wrong, else that of the mean."""
    if all(score in (0.0, 1.0) for score in scores):
        return p_above_chance(round(sum(scores)), chances)
    return p_mean_above_chance(scores, chances)
