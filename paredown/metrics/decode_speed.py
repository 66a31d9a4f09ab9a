"""Tokens per second that one request sees once its first chunk is there."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.events import RequestEvents
from paredown.records.figure import Figure
from paredown.stats.figures import quantile


def _compute(evidence: Evidence) -> Figure:
    """Median over requests; with several in flight they depend on each other, and the limits come from blocks."""
    undefined = "every answer came in one chunk, so there is no time between tokens"
    samples = timing.request_samples("decode_speed", "tok/s", evidence.trial, _tokens_per_second, undefined)
    return quantile(samples, 0.5, "", clustered=evidence.trial is not None and evidence.trial.concurrency != 1)


def _tokens_per_second(request: RequestEvents) -> float | None:
    seconds = timing.tpot_s(request)
    return 1.0 / seconds if seconds else None


METRIC = Metric(
    name="decode_speed",
    unit="tok/s",
    better="higher",
    summary="tokens per second of a single request after its first chunk",
    formula="median over requests of (n − m_1)/(c_k − c_1)",
    compute=_compute,
)
