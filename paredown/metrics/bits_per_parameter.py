"""Stored bits per parameter, scales and zero points included."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.figure import Figure


def _compute(evidence: Evidence) -> Figure:
    artifact = evidence.artifact
    if artifact is None:
        return Figure("bits_per_parameter", "bit", None, missing="the candidate has no artifact")
    return Figure("bits_per_parameter", "bit", artifact.bits_per_parameter, count=1)


METRIC = Metric(
    name="bits_per_parameter",
    unit="bit",
    better="lower",
    summary="stored bits per parameter, scales and zero points included",
    formula="8 · weight bytes / parameters of the source model",
    compute=_compute,
)
