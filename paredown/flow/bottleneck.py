"""Where the time goes: prefill and decode of a candidate on the measured roofline. Pure."""

from __future__ import annotations

from paredown.flow.context import Prepared
from paredown.flow.speed import Trials
from paredown.profile import roofline
from paredown.records.bottleneck import Placement
from paredown.records.candidate import Candidate

HALF_PRECISION = frozenset({"bfloat16", "bf16"})


def placements(prepared: Prepared, candidate: Candidate, trials: Trials | None) -> tuple[Placement, ...]:
    """Every step of the candidate's trials that can be placed."""
    return roofline.placements(
        candidate.name,
        prepared.facts,
        candidate.main,
        prepared.ceilings,
        trials.trials if trials else (),
        compute_dtype=compute_dtype(candidate),
    )


def compute_dtype(candidate: Candidate) -> str:
    """The data type in which the engine multiplies, as its resolved options say; float32 when they do not."""
    return "bfloat16" if HALF_PRECISION & set(candidate.engine_options.values()) else "float32"
