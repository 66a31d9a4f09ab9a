"""End-to-end latency of a 50-token answer: comparable between models that like to say more or less."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Samples


def _compute(evidence: Evidence) -> Samples:
    return timing.request_samples("e2e_50", "s", evidence.trial, timing.e2e_50_s, "no answer has exactly 50 tokens")


METRIC = Metric(
    name="e2e_50",
    unit="s",
    better="lower",
    summary="end-to-end latency of requests with exactly 50 output tokens",
    formula="c_k − t_sched where n = 50",
    compute=_compute,
    distribution=True,
)
