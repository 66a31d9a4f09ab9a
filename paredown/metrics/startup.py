"""From the start of the engine's process to the moment when it can answer."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    missing = "no process was started for this trial"
    return over_blocks("startup", "s", evidence.trial, _ready_s, missing, "page cache as it was found")


def _ready_s(block: Block) -> float | None:
    return block.startup.ready_ns / 1e9 if block.startup else None


METRIC = Metric(
    name="startup",
    unit="s",
    better="lower",
    summary="process start until ready",
    formula="t_ready − t_process",
    compute=_compute,
)
