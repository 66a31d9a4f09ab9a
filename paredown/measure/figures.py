"""Evidence to figures: every metric, with the statistics that its samples carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paredown import registry
from paredown.contracts import Evidence, Metric
from paredown.records.figure import Figure, Samples
from paredown.records.timing import succeeded
from paredown.stats.figures import mean, quantile

# An upper limit of p99 takes 299 samples; fewer say nothing that p95 does not.
SAMPLES_FOR_P99 = 299
QUANTILES = (("p50", 0.50), ("p95", 0.95), ("p99", 0.99))


def compute(evidence: Evidence, metrics: Sequence[Metric] | None = None) -> tuple[Figure, ...]:
    """Figures of all metrics (default: every one there is). A distribution gives p50, p95, p99 where there are 299
    samples, and the mean; a figure of a void trial carries the reason in its note.
    """
    figures: list[Figure] = []
    for metric in registry.metrics() if metrics is None else metrics:
        found = metric.compute(evidence)
        made = [found] if isinstance(found, Figure) else _statistics(found, evidence)
        figures += [_void(figure, evidence) for figure in made] if rests_on_the_trial(metric, evidence) else made
    return tuple(figures)


def _statistics(samples: Samples, evidence: Evidence) -> list[Figure]:
    clustered = _depend_on_each_other(samples, evidence)
    wanted = [(name, q) for name, q in QUANTILES if name != "p99" or len(samples.values) >= SAMPLES_FOR_P99]
    figures = [quantile(samples, q, name, clustered=clustered) for name, q in wanted]
    return [*figures, mean(samples, "mean", clustered=clustered)]


def _depend_on_each_other(samples: Samples, evidence: Evidence) -> bool:
    """Requests that were in flight together do, and so do several samples of one request."""
    trial = evidence.trial
    if trial is None:
        return False
    return trial.concurrency != 1 or len(samples.values) > len(succeeded(trial.requests()))


def rests_on_the_trial(metric: Metric, evidence: Evidence) -> bool:
    """Whether there is no figure without it: bytes on disk are the same, however the load went."""
    return bool(metric.compute(replace(evidence, trial=None)).missing)


def _void(figure: Figure, evidence: Evidence) -> Figure:
    if evidence.trial is None or not evidence.trial.void or figure.value is None:
        return figure
    return replace(figure, note="; ".join(filter(None, (f"void: {evidence.trial.void}", figure.note))))
