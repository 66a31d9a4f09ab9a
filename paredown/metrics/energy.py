"""Energy per output token from a hardware counter; not measured, never zero, where there is none."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    found = [b.energy for b in evidence.trial.blocks if b.energy] if evidence.trial else []
    missing = next((energy.missing for energy in found if energy.missing), "no energy counter was read")
    sources = ", ".join(sorted({energy.source for energy in found if energy.joules is not None}))
    note = f"gross, from {sources}" if sources else ""
    return over_blocks("energy", "J/tok", evidence.trial, _joules_per_token, missing, note)


def _joules_per_token(block: Block) -> float | None:
    tokens = sum(request.output_tokens for request in timing.succeeded(block.requests))
    if block.energy is None or block.energy.joules is None or tokens == 0:
        return None
    return block.energy.joules / tokens


METRIC = Metric(
    name="energy",
    unit="J/tok",
    better="lower",
    summary="energy per output token, gross",
    formula="counter difference over the block / output tokens",
    compute=_compute,
    requires=("energy_counter",),
)
