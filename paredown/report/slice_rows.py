"""What is shown of the slices of a candidate: their order, drops, limits, and how many prompts would decide."""

from __future__ import annotations

import re

from paredown.records.verdict import CandidateVerdict, SliceVerdict, Verdict
from paredown.report import units
from paredown.report.view import CandidateView


def worst_gate(verdict: CandidateVerdict) -> SliceVerdict | None:
    """The gated slice with the largest upper limit of the drop (an unbounded one first); None when none was judged."""
    gates = [s for s in verdict.slices if s.gated]
    gates = [s for s in gates if s.drop is not None] or gates
    return max(gates, key=lambda s: float("inf") if s.high is None else s.high, default=None)


def drop_text(gate: SliceVerdict | None, absent: str = "") -> str:
    if gate is None or gate.drop is None:
        return units.missing_text((gate.reason if gate else "") or absent)
    return units.points(gate.drop)


def slice_rows(candidate: CandidateView | None) -> tuple[SliceVerdict, ...]:
    """Gates first, then watched slices by falling upper limit."""
    if candidate is None:
        return ()
    return tuple(
        sorted(candidate.verdict.slices, key=lambda s: (not s.gated, -(s.high if s.high is not None else 9.0), s.slice))
    )


def limits_name(row: SliceVerdict) -> str:
    return f"one-sided {100 * row.level:g}{units.NBSP}% limits"


def more_prompts_text(row: SliceVerdict) -> str:
    """How many more prompts would decide, unless the reason has said so already."""
    if row.verdict is not Verdict.INVESTIGATE:
        return ""
    if row.more_prompts is None:
        return "more prompts cannot decide this"
    # A reason rounds: "expect to need about 140 more".
    return "" if re.search(r"\d more\b", row.reason) else f"{row.more_prompts:,} more prompts would decide"
