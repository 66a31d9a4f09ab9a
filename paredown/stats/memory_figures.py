"""Parts of the engine's memory as figures: the median over blocks of one part of each block's record."""

from __future__ import annotations

from collections.abc import Callable

from paredown.contracts import Evidence
from paredown.records.events import Block, Memory
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks

ACTIVATIONS_NOTE = "activations: "
"""How the part of `Memory.note` begins that is about activations."""


def memory_part(
    metric: str, unit: str, evidence: Evidence, part: Callable[[Memory], float | None], note_on: str
) -> Figure:
    """The figure, with what the record's note says of this part; missing where it was not separated."""
    memories = [b.memory for b in evidence.trial.blocks if b.memory] if evidence.trial else []
    note = next(filter(None, (memory.note_on(note_on) for memory in memories)), "")
    missing = note or "not separated, because no memory was sampled"

    def of_block(block: Block) -> float | None:
        value = part(block.memory) if block.memory else None
        return None if value is None else float(value)

    return over_blocks(metric, unit, evidence.trial, of_block, missing, note)
