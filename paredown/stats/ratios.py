"""Ratios between two sets of independent blocks (processes, time slices), with limits.

Blocks that were measured in turns are compared round by round (`paired_ratio`), others side by side
(`bootstrap_ratio`). The block is what counts: requests of one process share its memory layout, its clock and its
neighbours, so that more of them do not make it more certain (Kalibera and Jones, Rigorous benchmarking in reasonable
time, ISMM 2013). `benchmarks/bench_noise.py` has the rates at which each finds a planted difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_TO_RESAMPLE = 5
"""Blocks a side; resampling fewer gives limits that are far too close."""


@dataclass(frozen=True)
class RatioInterval:
    """a / b. low, high: two-sided limits at `confidence`; None where the blocks carry none."""

    ratio: float
    low: float | None
    high: float | None
    blocks: int
    confidence: float

    @property
    def differs(self) -> bool | None:
        """Whether the limits exclude 1; None = there are no limits."""
        if self.low is None or self.high is None:
            return None
        return not self.low <= 1.0 <= self.high


def paired_ratio(a_blocks: Sequence[float], b_blocks: Sequence[float], confidence: float = 0.95) -> RatioInterval:
    """A / b of rounds in which both were measured one after the other; block i of one belongs to block i of the other.

    The geometric mean of the ratios of the rounds, with Student's t limits on their logarithms and n − 1 degrees of
    freedom (Student 1908; Box, Hunter and Hunter, Statistics for Experimenters, chapter 3: paired comparison). What
    changes slowly meets both of a round and cancels. A round that only one of them was disturbed in widens the
    limits (t tends to 1, so it is no false alarm) and can hide a difference: such rounds are measured again where
    the load was seen, not trimmed here, because trimming leaves five rounds two degrees of freedom. The studentized
    bootstrap needs no normal logarithms, but calls one A/A in ten a difference when a round is disturbed.
    Raises ValueError for sides of different length, none, or a figure that is not positive.
    """
    from scipy.stats import t

    a, b = _positive(a_blocks), _positive(b_blocks)
    if len(a) != len(b):
        raise ValueError(f"Rounds come in pairs, found {len(a)} and {len(b)} blocks.")
    logarithms = np.log(a / b)
    rounds, mean = len(logarithms), float(logarithms.mean())
    if rounds < 2:
        return RatioInterval(math.exp(mean), None, None, rounds, confidence)
    quantile = float(t.ppf(0.5 + confidence / 2.0, rounds - 1))
    half = quantile * float(logarithms.std(ddof=1)) / math.sqrt(rounds)
    return RatioInterval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), rounds, confidence)


def bootstrap_ratio(
    a_blocks: Sequence[float],
    b_blocks: Sequence[float],
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = 4000,
) -> RatioInterval:
    """Ratio of the medians of two sets of blocks that were not measured in turns, one positive figure a block.

    The interval is the percentile bootstrap over blocks (Efron and Tibshirani 1993, chapter 13), each side resampled
    by itself; there is none with fewer than five blocks on a side. What changed between the two sets is in the ratio.
    Raises ValueError when a side is empty or holds a figure that is not positive.
    """
    a, b = _positive(a_blocks), _positive(b_blocks)
    ratio = float(np.median(a) / np.median(b))
    blocks = min(len(a), len(b))
    if blocks < FEWEST_TO_RESAMPLE:
        return RatioInterval(ratio, None, None, blocks, confidence)
    random = np.random.default_rng(seed)
    a_medians = np.median(a[random.integers(0, len(a), (resamples, len(a)))], axis=1)
    b_medians = np.median(b[random.integers(0, len(b), (resamples, len(b)))], axis=1)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(a_medians / b_medians, [tail, 1.0 - tail])
    return RatioInterval(ratio, float(low), float(high), blocks, confidence)


def _positive(blocks: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(blocks, dtype=float)
    if len(values) == 0:
        raise ValueError("A ratio needs at least one block on each side.")
    if not np.all(values > 0):
        raise ValueError("A ratio needs positive figures.")
    return values
