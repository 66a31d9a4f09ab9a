"""Bytes of every file of the artifact."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.figure import Figure


def _compute(evidence: Evidence) -> Figure:
    artifact = evidence.artifact
    if artifact is None:
        return Figure("disk_bytes", "B", None, missing="the candidate has no artifact")
    return Figure("disk_bytes", "B", float(artifact.disk_bytes), count=1)


METRIC = Metric(
    name="disk_bytes",
    unit="B",
    better="lower",
    summary="bytes of every file of the artifact",
    formula="Σ file sizes",
    compute=_compute,
)
