"""Requests per second that kept every per-request limit: what a server is worth to users who do not wait longer."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.events import Block, RequestEvents
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    trial, limits = evidence.trial, evidence.limits
    if not limits:
        return Figure("goodput", "req/s", None, missing="no latency target says what a good request is")
    if trial is None:
        return Figure("goodput", "req/s", None, missing="no trial was run")
    if not timing.succeeded(trial.requests()):
        return Figure("goodput", "req/s", None, missing=timing.nothing_succeeded(trial))

    def is_good(request: RequestEvents) -> bool:
        return timing.is_good(request, limits)

    def steady(block: Block) -> float | None:
        return timing.request_rate(block, timing.steady_window(block, trial.concurrency), is_good)

    said = "good: " + ", ".join(f"{metric} ≤ {limit:g} s" for metric, limit in sorted(limits.items()))
    note = "; ".join(filter(None, (said, timing.caveats(trial))))
    return over_blocks("goodput", "req/s", trial, steady, "everything was sent and arrived at one moment", note)


METRIC = Metric(
    name="goodput",
    unit="req/s",
    better="higher",
    summary="requests per second that kept every latency limit",
    formula="requests that kept all limits and ended in the steady window / its length",
    compute=_compute,
    requires=("limits",),
)
