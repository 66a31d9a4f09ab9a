"""Time to first token from the moment of sending, as most tools give it; hides waiting before the send."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Samples


def _compute(evidence: Evidence) -> Samples:
    return timing.request_samples("ttft_sent", "s", evidence.trial, timing.ttft_sent_s, "no request has a first token")


METRIC = Metric(
    name="ttft_sent",
    unit="s",
    better="lower",
    summary="time to first token, from when the request was sent",
    formula="c_1 − t_sent",
    compute=_compute,
    distribution=True,
)
