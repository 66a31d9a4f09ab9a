"""Where the time goes: prefill and decode of a candidate on the measured roofline. Pure."""

from __future__ import annotations

from paredown.flow.context import Prepared
from paredown.flow.speed import Trials
from paredown.profile import roofline
from paredown.profile.as_served import as_served
from paredown.records.bottleneck import Placement
from paredown.records.candidate import Candidate


def placements(prepared: Prepared, candidate: Candidate, trials: Trials | None) -> tuple[Placement, ...]:
    """Every step of the candidate's trials that can be placed."""
    served = as_served(candidate, prepared.facts, prepared.ceilings)
    return roofline.placements(
        candidate.name,
        prepared.facts,
        served.artifact,
        prepared.ceilings,
        trials.trials if trials else (),
        compute_dtype=served.compute_dtype,
        kv_bytes_per_token=served.kv_bytes_per_token,
    )
