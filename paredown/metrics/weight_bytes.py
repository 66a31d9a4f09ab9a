"""Bytes of the stored weights."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.figure import Figure


def _compute(evidence: Evidence) -> Figure:
    artifact = evidence.artifact
    if artifact is None:
        return Figure("weight_bytes", "B", None, missing="the candidate has no artifact")
    return Figure("weight_bytes", "B", float(artifact.weight_bytes), count=1)


METRIC = Metric(
    name="weight_bytes",
    unit="B",
    better="lower",
    summary="bytes of the stored weights",
    formula="Σ bytes of tensors, each shared one once",
    compute=_compute,
)
