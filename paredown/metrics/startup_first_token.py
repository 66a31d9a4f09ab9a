"""From the start of the engine's process to its first token: what a cold start costs the first user."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    missing = "no first token was seen after a process start"
    return over_blocks("startup_first_token", "s", evidence.trial, _first_token_s, missing)


def _first_token_s(block: Block) -> float | None:
    if block.startup is None or block.startup.first_token_ns is None:
        return None
    return block.startup.first_token_ns / 1e9


METRIC = Metric(
    name="startup_first_token",
    unit="s",
    better="lower",
    summary="process start until the first token of the first answer",
    formula="c_1 of the first warm-up request − t_process",
    compute=_compute,
)
