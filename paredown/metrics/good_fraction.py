"""Share of the requests that kept every per-request limit; one that failed kept none and counts."""

from __future__ import annotations

from dataclasses import replace

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Figure, Samples
from paredown.stats.figures import ONE_SIDED, mean
from paredown.stats.proportions import exact_limits


def _compute(evidence: Evidence) -> Figure:
    """A mean of ones and noughts; with several in flight they depend on each other, and the limits come from blocks.

    Not measured where no request succeeded, as every other figure of such a trial.
    """
    trial, limits = evidence.trial, evidence.limits
    if not limits:
        return Figure("good_fraction", "fraction", None, missing="no latency target says what a good request is")
    if trial is None:
        return Figure("good_fraction", "fraction", None, missing="no trial was run")
    if not timing.succeeded(trial.requests()):
        return Figure("good_fraction", "fraction", None, missing=timing.nothing_succeeded(trial))
    every = [(float(timing.is_good(r, limits)), block.index) for block in trial.blocks for r in block.requests]
    note = f"{sum(good for good, _ in every):g} of {len(every)} requests, failures counted"
    samples = Samples("good_fraction", "fraction", tuple(g for g, _ in every), tuple(b for _, b in every), note=note)
    found = mean(samples, "", clustered=trial.concurrency != 1)
    if found.low is None or found.high is None:
        return found
    # Blocks that all came out alike have no spread, and still bound a share no better than so many requests can.
    exact = exact_limits(round(sum(good for good, _ in every)), len(every), ONE_SIDED)
    return replace(found, low=max(0.0, min(found.low, exact.low)), high=min(1.0, max(found.high, exact.high)))


METRIC = Metric(
    name="good_fraction",
    unit="fraction",
    better="higher",
    summary="share of the requests that kept every latency limit, failures included in the whole",
    formula="requests that kept all limits / requests that were due",
    compute=_compute,
    requires=("limits",),
)
