"""The largest memory of the engine's process tree that was seen, over all blocks (sampled PSS; see `Memory`)."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.figure import Figure


def _compute(evidence: Evidence) -> Figure:
    """The largest, not the median: a memory limit is met by every process or it is not met."""
    memories = [b.memory for b in evidence.trial.blocks if b.memory] if evidence.trial else []
    if not memories:
        return Figure("peak_memory", "B", None, missing="no memory was sampled")
    largest = max(memories, key=lambda memory: memory.peak_bytes)
    note = f"sampled every {largest.sample_period_ms} ms"
    if largest.high_water_bytes is not None:
        note += f"; the kernel's high-water marks add up to {largest.high_water_bytes} B"
    return Figure("peak_memory", "B", float(largest.peak_bytes), count=len(memories), note=note)


METRIC = Metric(
    name="peak_memory",
    unit="B",
    better="lower",
    summary="largest memory of the engine's process tree",
    formula="max over samples of Σ PSS over processes",
    compute=_compute,
)
