"""How long a candidate's answers are beside the baseline's on the same prompts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LengthRatio:
    """Written answers of two evaluations, paired by prompt.

    answers:    pairs; those that ran into the length limit on both sides (`both_cut`) say nothing and are in no ratio
    compared:   pairs in the ratio; `units` of them are independent (items that share a document are one)
    baseline_tokens, candidate_tokens: totals over the compared pairs; a token that ends an answer counts
    ratio:      candidate / baseline of these totals; low, high: one-sided 95 % limits, None = too few pairs
    half_width: half the width of that interval in logarithms
    baseline_ended, candidate_ended: answers that ended by themselves, of all pairs; `end_lost`, `end_gained`: pairs in
                which only the baseline did, or only the candidate
    baseline_loops, candidate_loops: answers that end in a loop
    """

    answers: int
    both_cut: int
    compared: int
    units: int
    baseline_tokens: int
    candidate_tokens: int
    ratio: float | None
    low: float | None
    high: float | None
    half_width: float | None
    baseline_ended: int
    candidate_ended: int
    end_lost: int
    end_gained: int
    baseline_loops: int
    candidate_loops: int
