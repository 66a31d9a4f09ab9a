"""Memory that a filling context took; not measured where the parts cannot be separated."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    notes = [b.memory.note for b in evidence.trial.blocks if b.memory and b.memory.note] if evidence.trial else []
    missing = "not separated" + (f": {notes[0]}" if notes else "")
    return over_blocks("kv_cache_memory", "B", evidence.trial, _part_bytes, missing, notes[0] if notes else "")


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
