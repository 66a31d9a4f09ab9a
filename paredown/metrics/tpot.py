"""Time per output token of each request; undefined, not zero, for an answer that came in one chunk."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Samples


def _compute(evidence: Evidence) -> Samples:
    undefined = "every answer came in one chunk, so there is no time between tokens"
    return timing.request_samples("tpot", "s", evidence.trial, timing.tpot_s, undefined)


METRIC = Metric(
    name="tpot",
    unit="s",
    better="lower",
    summary="time per output token after the first chunk",
    formula="(c_k − c_1)/(n − m_1), undefined when n = m_1",
    compute=_compute,
    distribution=True,
)
