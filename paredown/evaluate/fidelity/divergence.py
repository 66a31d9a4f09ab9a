"""Divergence of two next-token distributions of which only some log-probabilities are known, nats.

P is the baseline, Q the candidate; both are known at the same ids, the baseline's top-k. All other tokens are one more
outcome, of the mass that is left. Then by the log-sum inequality (Cover & Thomas, Elements of Information Theory,
theorem 2.7.1)

    KL(P ‖ Q) ≥ Σ_k p_i · ln(p_i / q_i) + p_rest · ln(p_rest / q_rest)

and the same with P and Q exchanged: putting outcomes together never adds divergence, whoever chose the ids. Both are
lower bounds, and a bound with more ids is never smaller. The reverse one misses more: what the candidate likes and the
baseline does not is outside the baseline's top-k, so that only its sum is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A probability mass below this is rounding of 32-bit log-probabilities, on either side.
MASS_RESOLUTION = 1e-6


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of KL(baseline ‖ candidate) and KL(candidate ‖ baseline)."""

    kl: float
    reverse: float


def bounds(baseline: Sequence[float], candidate: Sequence[float]) -> Bounds:
    """Both bounds from log-probabilities at the same ids; at least 0.

    Masses under 1e-6 count as 1e-6: they are rounding. Raises ValueError when the lengths differ.
    """
    p, q = np.asarray(baseline, np.float64), np.asarray(candidate, np.float64)
    if p.shape != q.shape:
        raise ValueError(f"{p.size} log-probabilities of the baseline and {q.size} of the candidate do not fit.")
    p_rest, q_rest = _rest(p), _rest(q)
    rest = float(np.log(p_rest) - np.log(q_rest))
    kl = float(np.exp(p) @ (p - q)) + p_rest * rest
    reverse = float(np.exp(q) @ (q - p)) - q_rest * rest
    return Bounds(max(0.0, kl), max(0.0, reverse))


def _rest(logprobs: Floats) -> float:
    return max(1.0 - float(np.exp(logprobs).sum()), MASS_RESOLUTION)


def is_top1(candidate: int, ids: Sequence[int], logprobs: Sequence[float]) -> bool:
    """Whether the candidate's first choice is the baseline's; of equal logits (usual in bf16) any counts as first."""
    return any(candidate == token for token, value in zip(ids, logprobs, strict=True) if value == logprobs[0])


def overlap(candidate: Sequence[int], baseline: Sequence[int], k: int) -> float:
    """Share of the baseline's k likeliest tokens among the candidate's k likeliest. Rows as long as k at least."""
    return len(set(candidate[:k]) & set(baseline[:k])) / k
