"""Paired differences of graded scores, with the prompt (document, conversation) as the cluster (arXiv 2411.00640)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paredown.stats.tango import normal_quantile


@dataclass(frozen=True)
class MeanDrop:
    """Mean drop (baseline minus candidate, in the unit of the score) and its cluster-robust standard error."""

    drop: float
    standard_error: float
    clusters: int
    items: int

    def limits(self, alpha: float = 0.05) -> tuple[float, float]:
        """Lower and upper limit, each one-sided at 1 − `alpha`, for scores in [0, 1].

        Student's t over the clusters, but never nearer to the mean than what a rare total loss, seen in none of the
        clusters, would allow: z²/(n + z²), Tango's limit with zero flips. Without that floor a few equal answers
        would have a standard error of 0 and prove any margin.
        """
        from scipy.special import stdtrit

        z = normal_quantile(1.0 - alpha)
        unseen = z * z / (self.clusters + z * z)
        spread = float(stdtrit(self.clusters - 1, 1.0 - alpha)) * self.standard_error if self.clusters > 1 else 1.0
        reach = max(unseen, spread)
        return max(-1.0, self.drop - reach), min(1.0, self.drop + reach)

    def p_larger_than(self, margin: float) -> float:
        """One-sided p-value against H0: true drop ≤ margin; without any spread that of the sign test, 2⁻ⁿ."""
        from scipy.special import stdtr

        if self.clusters < 2 or self.standard_error == 0.0:
            return 0.5**self.clusters if self.drop > margin else 1.0
        return float(stdtr(self.clusters - 1, -(self.drop - margin) / self.standard_error))

    def p_changed(self) -> float:
        """Two-sided p-value against H0: no change."""
        mirrored = MeanDrop(abs(self.drop), self.standard_error, self.clusters, self.items)
        return min(1.0, 2.0 * mirrored.p_larger_than(0.0))


def mean_drop(drops: Sequence[float], clusters: Sequence[str]) -> MeanDrop:
    """Mean of `drops` with the sandwich standard error over clusters, times √(G/(G − 1)) for few of them.

    Items of one cluster may depend on each other in any way; clusters are independent. Raises ValueError when empty
    or when the lengths differ.
    """
    if not drops or len(drops) != len(clusters):
        raise ValueError(f"{len(drops)} differences and {len(clusters)} clusters do not fit.")
    values = np.asarray(drops, dtype=float)
    mean = float(np.mean(values))
    sums: dict[str, float] = {}
    for residual, cluster in zip(values - mean, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + float(residual)
    count = len(sums)
    squares = sum(total * total for total in sums.values())
    error = (squares * count / (count - 1)) ** 0.5 / len(values) if count > 1 else 0.0
    return MeanDrop(mean, error, count, len(values))
