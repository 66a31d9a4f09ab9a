"""End-to-end latency, from due to the last token."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Samples


def _compute(evidence: Evidence) -> Samples:
    return timing.request_samples("e2e", "s", evidence.trial, timing.e2e_s, "no request has a last token")


METRIC = Metric(
    name="e2e",
    unit="s",
    better="lower",
    summary="from when the request was due to its last token",
    formula="c_k − t_sched",
    compute=_compute,
    distribution=True,
)
