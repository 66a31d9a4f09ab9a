"""The KV cache at its largest; not measured where it cannot be told from the rest."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import KV_CACHE_NOTE
from paredown.records.figure import Figure
from paredown.stats.memory_figures import memory_part


def _compute(evidence: Evidence) -> Figure:
    return memory_part("kv_cache_memory", "B", evidence, lambda memory: memory.kv_cache_bytes, KV_CACHE_NOTE)


METRIC = Metric(
    name="kv_cache_memory",
    unit="B",
    better="lower",
    summary="the KV cache at its largest",
    formula="the engine's own count, else growth of PSS while one answer is decoded",
    compute=_compute,
)
