"""Ratios of medians between two sets of independent blocks (processes, time slices), with a bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RatioInterval:
    """median(a) / median(b). low, high: two-sided limits at `confidence`; None when one side has a single block."""

    ratio: float
    low: float | None
    high: float | None
    blocks: int
    confidence: float


def bootstrap_ratio(
    a_blocks: Sequence[float],
    b_blocks: Sequence[float],
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = 4000,
) -> RatioInterval:
    """Ratio of the medians of two sets of blocks, one positive figure a block.

    The interval is the percentile bootstrap over blocks (Efron and Tibshirani 1993, chapter 13), each side resampled
    by itself; with fewer than about five blocks a side it is too narrow and serves as a description only.
    Raises ValueError when a side is empty or holds a figure that is not positive.
    """
    a, b = np.asarray(a_blocks, dtype=float), np.asarray(b_blocks, dtype=float)
    if len(a) == 0 or len(b) == 0:
        raise ValueError("A ratio needs at least one block on each side.")
    if not (np.all(a > 0) and np.all(b > 0)):
        raise ValueError("A ratio needs positive figures.")
    ratio = float(np.median(a) / np.median(b))
    blocks = min(len(a), len(b))
    if blocks < 2:
        return RatioInterval(ratio, None, None, blocks, confidence)
    random = np.random.default_rng(seed)
    a_medians = np.median(a[random.integers(0, len(a), (resamples, len(a)))], axis=1)
    b_medians = np.median(b[random.integers(0, len(b), (resamples, len(b)))], axis=1)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(a_medians / b_medians, [tail, 1.0 - tail])
    return RatioInterval(ratio, float(low), float(high), blocks, confidence)
