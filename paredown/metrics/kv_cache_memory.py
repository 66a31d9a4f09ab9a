"""Memory that a filling context took; not measured where the parts cannot be separated."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import KV_CACHE_NOTE, Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    memories = [b.memory for b in evidence.trial.blocks if b.memory] if evidence.trial else []
    note = next(filter(None, (memory.note_on(KV_CACHE_NOTE) for memory in memories)), "")
    missing = note or "not separated, because no memory was sampled"
    return over_blocks("kv_cache_memory", "B", evidence.trial, _part_bytes, missing, note)


def _part_bytes(block: Block) -> float | None:
    part = block.memory.kv_cache_bytes if block.memory else None
    return None if part is None else float(part)


METRIC = Metric(
    name="kv_cache_memory",
    unit="B",
    better="lower",
    summary="memory that a filling context took",
    formula="growth of PSS while one answer is decoded",
    compute=_compute,
)
