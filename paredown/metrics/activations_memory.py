"""Memory that the work itself took: what was held beyond the loaded model and the KV cache."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.figure import Figure
from paredown.stats.memory_figures import ACTIVATIONS_NOTE, memory_part


def _compute(evidence: Evidence) -> Figure:
    return memory_part("activations_memory", "B", evidence, lambda memory: memory.activations_bytes, ACTIVATIONS_NOTE)


METRIC = Metric(
    name="activations_memory",
    unit="B",
    better="lower",
    summary="memory beyond the loaded model and the KV cache",
    formula="peak of PSS while working − after loading − KV cache",
    compute=_compute,
)
