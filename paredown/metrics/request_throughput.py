"""Requests per second that the server finishes while it is fully loaded; first send to last response beside it."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    trial = evidence.trial
    if trial is None:
        return Figure("request_throughput", "req/s", None, missing="no trial was run")
    if not timing.succeeded(trial.requests()):
        return Figure("request_throughput", "req/s", None, missing=timing.nothing_succeeded(trial))

    def steady(block: Block) -> float | None:
        return timing.request_rate(block, timing.steady_window(block, trial.concurrency))

    def whole(block: Block) -> float | None:
        return timing.request_rate(block, timing.whole_window(block))

    missing = "everything was sent and arrived at one moment"
    beside = over_blocks("request_throughput", "req/s", trial, whole, missing).value
    notes = [timing.caveats(trial)]
    if beside is not None:
        notes.append(f"{beside:.6g} req/s from first send to last response")
    return over_blocks("request_throughput", "req/s", trial, steady, missing, "; ".join(filter(None, notes)))


METRIC = Metric(
    name="request_throughput",
    unit="req/s",
    better="higher",
    summary="requests finished per second in the steady window",
    formula="requests whose last token arrived in the steady window / its length",
    compute=_compute,
)
