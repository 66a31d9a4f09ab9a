"""Which candidate the one confirmation test is spent on, and which comes closest when none passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paredown.records.candidate import Rung
from paredown.records.verdict import CandidateVerdict, SliceVerdict, Verdict
from paredown.spec.targets import QUALITY_DROP
from paredown.stats import power, tango

PRIMARY_METRIC = "decode_speed"
LIKELY = 0.5
PRIOR_SPREAD = 0.5
"""Of the margin: one standard deviation of the true drop, before any prompt was asked."""
_VERDICT_ORDER = {Verdict.SHIP: 0, Verdict.INVESTIGATE: 1, Verdict.REJECT: 2}


def for_confirmation(
    screened: Sequence[CandidateVerdict],
    rungs: Mapping[str, Rung],
    *,
    prompts_ratio: float,
    alpha: float,
    primary: str = PRIMARY_METRIC,
) -> tuple[str, ...]:
    """Candidates in the order in which they deserve the confirmation; rejected and failed ones are not in it.

    First by how many targets their figures meet, then those that the confirmation will more likely ship than not,
    then the lower rung (quality is never spent for speed nobody asked for), then the primary speed metric.

    prompts_ratio: prompts held back for the confirmation ÷ prompts of the screening
    """
    open_yet = [v for v in screened if v.verdict is not Verdict.REJECT and not v.error]
    chances = {v.candidate: chance_to_ship(v.slices, prompts_ratio, alpha) for v in open_yet}

    def key(verdict: CandidateVerdict) -> tuple[float, ...]:
        chance = chances[verdict.candidate]
        missed = float(_missed(verdict))
        if chance < LIKELY:
            return (missed, 1.0, -chance, -speed(verdict, primary))
        return (missed, 0.0, float(rungs.get(verdict.candidate, Rung.TRAINING)), -speed(verdict, primary))

    return tuple(verdict.candidate for verdict in sorted(open_yet, key=key))


def chance_to_ship(slices: Sequence[SliceVerdict], prompts_ratio: float, alpha: float) -> float:
    """Probability that every gate ships on `prompts_ratio` times as many prompts, judged by the screening.

    What is believed of the true drop: before the screening, normal about 0 with half the margin as its standard
    deviation (what passed the fidelity gate seldom loses more than the margin); after it, that times the likelihood
    of the drop observed. Averaged over; gates as independent. A gate without scored prompts counts one half.
    """
    chance = 1.0
    for row in slices:
        if row.gated and row.margin > 0.0:
            chance *= _gate_chance(row, prompts_ratio, alpha)
    return chance


def _gate_chance(row: SliceVerdict, prompts_ratio: float, alpha: float) -> float:
    counts = row.counts
    if row.drop is None or counts.n == 0:
        return 0.5
    flip_rate = (counts.lost + counts.gained + 1) / (counts.n + 2)
    n = max(1, round(counts.n * prompts_ratio))
    observed, before = flip_rate / counts.n, (row.margin * PRIOR_SPREAD) ** 2
    mean = row.drop * before / (before + observed)
    spread = (before * observed / (before + observed)) ** 0.5
    quantiles = [tango.normal_quantile(probability) for probability in np.linspace(0.05, 0.95, 10)]
    total = 0.0
    for quantile in quantiles:
        drop = min(max(mean + quantile * spread, -0.99), 0.99)
        total += power.ship_probability(n, row.margin, max(flip_rate, abs(drop)), drop, alpha)
    return total / len(quantiles)


def closest(verdicts: Sequence[CandidateVerdict], primary: str = PRIMARY_METRIC) -> CandidateVerdict | None:
    """The candidate that comes nearest to what was asked: verdict, targets missed by figures, quality lost, speed.

    One that never answered (failed before its first figure) is not near anything.
    """
    measured = [v for v in verdicts if not v.error and (v.figures or v.slices)]
    if not measured:
        return None
    return min(measured, key=lambda v: (_VERDICT_ORDER[v.verdict], _missed(v), _excess(v), -speed(v, primary)))


def _missed(verdict: CandidateVerdict) -> int:
    """Targets on figures that are missed or were not measured."""
    return sum(1 for result in verdict.targets if result.target.metric != QUALITY_DROP and result.met is not True)


def _excess(verdict: CandidateVerdict) -> float:
    """By how much the worst gate is certainly beyond its margin (fraction; 0 when none is)."""
    beyond = [row.low - row.margin for row in verdict.slices if row.gated and row.low is not None]
    return max([0.0, *beyond])


def met(verdict: CandidateVerdict) -> int:
    """How many targets are met."""
    return sum(1 for result in verdict.targets if result.met is True)


def speed(verdict: CandidateVerdict, primary: str) -> float:
    """The primary metric for sorting only; a candidate without it sorts last."""
    values = [f.value for f in verdict.figures if f.metric == primary and f.value is not None]
    return values[0] if values else float("-inf")
