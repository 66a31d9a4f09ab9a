"""Time to first token, from the moment when the request was due: waiting counts (no coordinated omission)."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Samples


def _compute(evidence: Evidence) -> Samples:
    return timing.request_samples("ttft", "s", evidence.trial, timing.ttft_s, "no request has a first token")


METRIC = Metric(
    name="ttft",
    unit="s",
    better="lower",
    summary="time to first token, from when the request was due",
    formula="c_1 − t_sched",
    compute=_compute,
    distribution=True,
)
