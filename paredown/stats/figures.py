"""Samples and blocks to figures with limits. Every limit is one-sided at 95 %, so an interval holds at 90 %."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from paredown.records.events import Block, Trial
from paredown.records.figure import Figure, Samples
from paredown.stats.percentiles import interval

ONE_SIDED = 0.95
FEWEST_CLUSTERS = 5
RESAMPLES = 1000


def quantile(samples: Samples, q: float, statistic: str, *, clustered: bool) -> Figure:
    """The pooled q-quantile with limits.

    clustered: samples of one block depend on each other (several tokens of a request, requests that queued). Then
    the limits come from the bootstrap over blocks, and there are none with fewer than five blocks. Otherwise they
    are order statistics, unbounded where the samples do not carry them.
    """
    empty = _empty(samples, statistic)
    if empty is not None:
        return empty
    if not clustered:
        found = interval(samples.values, q, ONE_SIDED)
        figure = Figure(samples.metric, samples.unit, found.value, found.count, statistic, found.low, found.high)
        return replace(figure, confidence=found.two_sided, note=samples.note)
    clusters = _clusters(samples)
    value = float(np.quantile(np.concatenate(clusters), q))
    low, high = _bootstrap_quantile(clusters, q)
    return Figure(
        samples.metric,
        samples.unit,
        value,
        len(clusters),
        statistic,
        low,
        high,
        confidence=2 * ONE_SIDED - 1,
        note=_with_cluster_note(samples, clusters),
    )


def mean(samples: Samples, statistic: str, *, clustered: bool) -> Figure:
    """The pooled mean with Student's t limits over samples, or over the means of blocks when `clustered`."""
    from scipy.stats import t

    empty = _empty(samples, statistic)
    if empty is not None:
        return empty
    values = [float(c.mean()) for c in _clusters(samples)] if clustered else list(samples.values)
    value, count = statistics.fmean(samples.values), len(values)
    low = high = None
    if count >= 2:
        half = float(t.ppf(ONE_SIDED, count - 1)) * statistics.stdev(values) / math.sqrt(count)
        low, high = value - half, value + half
    note = _with_cluster_note(samples, _clusters(samples)) if clustered else samples.note
    return Figure(
        samples.metric, samples.unit, value, count, statistic, low, high, confidence=2 * ONE_SIDED - 1, note=note
    )


def over_blocks(
    metric: str, unit: str, trial: Trial | None, value: Callable[[Block], float | None], missing: str, note: str = ""
) -> Figure:
    """The median over blocks of one value a block, with order-statistic limits (from five blocks on).

    missing: why there is no figure when no block has a value
    """
    if trial is None:
        return Figure(metric, unit, None, missing="no trial was run")
    values = [figure for figure in map(value, trial.blocks) if figure is not None]
    if not values:
        return Figure(metric, unit, None, missing=missing)
    if len(values) > 1:
        note = "; ".join(filter(None, (note, f"blocks from {min(values):.6g} to {max(values):.6g}")))
    found = interval(values, 0.5, ONE_SIDED)
    return Figure(
        metric, unit, found.value, len(values), low=found.low, high=found.high, confidence=found.two_sided, note=note
    )


def _empty(samples: Samples, statistic: str) -> Figure | None:
    if samples.values:
        return None
    missing = samples.missing or "there are no samples"
    return Figure(samples.metric, samples.unit, None, statistic=statistic, missing=missing)


def _clusters(samples: Samples) -> list[NDArray[np.float64]]:
    grouped: dict[int, list[float]] = {}
    for value, block in zip(samples.values, samples.blocks, strict=True):
        grouped.setdefault(block, []).append(value)
    return [np.asarray(values, dtype=float) for values in grouped.values()]


def _bootstrap_quantile(clusters: list[NDArray[np.float64]], q: float) -> tuple[float | None, float | None]:
    """Limits of the pooled q-quantile, percentile bootstrap over clusters (Efron and Tibshirani 1993, chapter 13)."""
    if len(clusters) < FEWEST_CLUSTERS:
        return None, None
    chosen = np.random.default_rng(0).integers(0, len(clusters), (RESAMPLES, len(clusters)))
    if len({len(cluster) for cluster in clusters}) == 1:
        table = np.stack(clusters)
        parts = np.array_split(chosen, RESAMPLES // 50)
        values = np.concatenate([np.quantile(table[rows].reshape(len(rows), -1), q, axis=1) for rows in parts])
    else:
        values = np.array([np.quantile(np.concatenate([clusters[i] for i in row]), q) for row in chosen])
    low, high = np.quantile(values, [1.0 - ONE_SIDED, ONE_SIDED])
    return float(low), float(high)


def _with_cluster_note(samples: Samples, clusters: list[NDArray[np.float64]]) -> str:
    return "; ".join(filter(None, (samples.note, f"{len(samples.values)} samples in {len(clusters)} blocks")))
