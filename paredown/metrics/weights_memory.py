"""Memory that loading the weights took; not measured where the parts cannot be separated."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import WEIGHTS_NOTE
from paredown.records.figure import Figure
from paredown.stats.memory_figures import memory_part


def _compute(evidence: Evidence) -> Figure:
    return memory_part("weights_memory", "B", evidence, lambda memory: memory.weights_bytes, WEIGHTS_NOTE)


METRIC = Metric(
    name="weights_memory",
    unit="B",
    better="lower",
    summary="memory that loading the weights took",
    formula="PSS after loading − PSS before, shared libraries left out",
    compute=_compute,
)
