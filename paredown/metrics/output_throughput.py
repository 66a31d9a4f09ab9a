"""Output tokens per second of the whole server while it is fully loaded; first send to last response in the note."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    trial = evidence.trial
    if trial is None:
        return Figure("output_throughput", "tok/s", None, missing="no trial was run")
    if not timing.succeeded(trial.requests()):
        return Figure("output_throughput", "tok/s", None, missing=timing.nothing_succeeded(trial))

    def steady(block: Block) -> float | None:
        return timing.output_rate(block, timing.steady_window(block, trial.concurrency))

    whole = over_blocks(
        "output_throughput", "tok/s", trial, lambda block: timing.output_rate(block, timing.whole_window(block)), ""
    )
    notes = [timing.caveats(trial)]
    if whole.value is not None:
        notes.append(f"{whole.value:.6g} tok/s from first send to last response")
    missing = "everything arrived at one moment"
    return over_blocks("output_throughput", "tok/s", trial, steady, missing, "; ".join(filter(None, notes)))


METRIC = Metric(
    name="output_throughput",
    unit="tok/s",
    better="higher",
    summary="output tokens per second in the steady window",
    formula="tokens that arrived in the steady window / its length",
    compute=_compute,
)
