"""What one position of the KV cache takes, as the engine allocates it."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import KV_CACHE_NOTE
from paredown.records.figure import Figure
from paredown.stats.memory_figures import memory_part


def _compute(evidence: Evidence) -> Figure:
    return memory_part("kv_bytes_per_token", "B", evidence, lambda memory: memory.kv_bytes_per_token, KV_CACHE_NOTE)


METRIC = Metric(
    name="kv_bytes_per_token",
    unit="B",
    better="lower",
    summary="KV cache that one token takes",
    formula="bytes / positions by the engine's own count, else growth of PSS / decoded tokens",
    compute=_compute,
)
