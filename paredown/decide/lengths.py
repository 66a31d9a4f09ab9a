"""The gate of answer lengths: stopping early must not pass for speed, and running on not for quality."""

from __future__ import annotations

import math
from dataclasses import dataclass

from paredown.decide import wording
from paredown.decide.gates import Outcome
from paredown.records.lengths import LengthRatio
from paredown.records.verdict import Verdict
from paredown.spec.schema import LengthLimits
from paredown.stats import tango

FEWEST_PAIRS = 8
"""Pairs below which an interval is not trusted: Student's t on the logarithm of few, skewed lengths."""

MOST_UNENDED = 0.25
"""Share of answers that may run into the length limit where the baseline ends by itself, beyond those the other way.

A limit hides how far an answer would have run on, so the ratio alone does not see it.
"""

ALPHA = 0.05
HOPELESS = 5_000


@dataclass(frozen=True)
class LengthVerdict:
    """verdict: None = there is nothing to judge by, which blocks nothing; `reason` says why."""

    verdict: Verdict | None
    reason: str


def judge(found: LengthRatio, limits: LengthLimits) -> LengthVerdict:
    """SHIP when the whole interval of the ratio lies between the limits, REJECT when all of it lies outside."""
    least, most = limits.min_ratio, limits.max_ratio
    if not found.answers:
        return LengthVerdict(None, "No prompt asks for a written answer, so lengths cannot be compared.")
    unended = tango.limits(found.end_lost, found.end_gained, found.answers, ALPHA)
    if found.answers >= FEWEST_PAIRS and unended.low > MOST_UNENDED:
        return LengthVerdict(
            Verdict.REJECT,
            f"Runs on: ends {found.candidate_ended} of {found.answers} answers by itself, the baseline "
            f"{found.baseline_ended}; the others ran into the length limit{_loops(found)}.",
        )
    if found.units < FEWEST_PAIRS or found.low is None or found.high is None or found.ratio is None:
        if found.ratio == 0.0 and found.units >= FEWEST_PAIRS:
            return LengthVerdict(Verdict.REJECT, f"Stops early: all {found.compared} answers are empty.")
        return LengthVerdict(
            None,
            f"Only {found.units} written answers can be compared in length ({found.both_cut} more ran into the limit "
            f"on both sides); it takes {FEWEST_PAIRS}.",
        )
    said = (
        f"{wording.percent(found.ratio)} of the baseline's tokens on {found.compared} answers "
        f"({wording.percent(found.low)} to {wording.percent(found.high)}"
    )
    ended = f"ends {found.candidate_ended} of {found.answers} by itself, baseline {found.baseline_ended}"
    if found.high < least:
        return LengthVerdict(
            Verdict.REJECT,
            f"Stops early: {said}; at least {wording.percent(least)} wanted): what it saves is answer, not time.",
        )
    if found.low > most:
        return LengthVerdict(
            Verdict.REJECT, f"Runs on: {said}; at most {wording.percent(most)} wanted); {ended}{_loops(found)}."
        )
    if found.low >= least and found.high <= most:
        return LengthVerdict(Verdict.SHIP, f"Answers are as long as the baseline's: {said}); {ended}.")
    return LengthVerdict(
        Verdict.INVESTIGATE,
        f"Whether answers are as long as the baseline's cannot be told yet: {said}; {wording.percent(least)} to "
        f"{wording.percent(most)} wanted). {_more(found, least, most)}",
    )


def decide(outcome: Outcome, lengths: LengthVerdict) -> Outcome:
    """The gates of the slices together with that of the lengths: the stricter of the two decides."""
    strictness: dict[Verdict | None, int] = {None: 0, Verdict.SHIP: 0, Verdict.INVESTIGATE: 1, Verdict.REJECT: 2}
    own, others = strictness[lengths.verdict], strictness[outcome.verdict]
    if lengths.verdict is None or own == 0 or own < others:
        return outcome
    reason = f"Answer length: {lengths.reason}"
    kept = outcome.reasons if own == others else ()
    return Outcome(lengths.verdict, (*kept, reason))


def _loops(found: LengthRatio) -> str:
    more = found.candidate_loops - found.baseline_loops
    return f"; {found.candidate_loops} end in a loop (baseline {found.baseline_loops})" if more > 0 else ""


def _more(found: LengthRatio, least: float, most: float) -> str:
    """How many answers would settle it if the ratio stays: the interval shrinks with the root of their number."""
    assert found.ratio is not None
    assert found.half_width is not None
    distance = min(abs(math.log(most / found.ratio)), abs(math.log(found.ratio / least)))
    needed = math.ceil(found.units * (found.half_width / max(distance, 1e-9)) ** 2) - found.units
    if needed > HOPELESS:
        return "It lies so near the limit that more prompts will hardly tell."
    return f"About {max(1, needed)} more prompts with written answers would tell."
