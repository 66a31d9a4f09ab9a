"""Verdicts of slices and candidates, and the decision of a run."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from paredown.records.candidate import LeftOut, Prediction
from paredown.records.figure import Figure
from paredown.records.golden import Smoke
from paredown.records.lengths import LengthRatio


class Verdict(enum.StrEnum):
    SHIP = "SHIP"
    REJECT = "REJECT"
    INVESTIGATE = "INVESTIGATE"


class Comparison(enum.StrEnum):
    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True)
class Target:
    """Metric, comparison, value, unit, optionally a slice or relative to the baseline.

    value: in the metric's base unit (seconds, bytes, fraction …); with `relative` a ratio to the baseline
    text:  as the user wrote it
    """

    metric: str
    comparison: Comparison
    value: float
    unit: str
    text: str
    statistic: str = ""
    slice: str = ""
    relative: bool = False


@dataclass(frozen=True)
class Margin:
    """A gate or a watched slice: the largest drop (fraction, 0.03 = 3 points) that is tolerated."""

    slice: str
    margin: float
    gated: bool
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairedCounts:
    """Paired binary outcomes of baseline and candidate on the same items."""

    both_right: int
    lost: int
    gained: int
    both_wrong: int
    not_scored: int = 0

    @property
    def n(self) -> int:
        return self.both_right + self.lost + self.gained + self.both_wrong


@dataclass(frozen=True)
class SliceVerdict:
    """The verdict on one slice or pool.

    drop:         baseline accuracy minus candidate accuracy (fraction; positive = worse)
    low, high:    one-sided limits of the drop at `level`, both given (Tango score interval for binary items)
    p_value:      mid-p McNemar, two-sided
    more_prompts: further prompts needed to decide (INVESTIGATE only); None = cannot be decided by prompts
    discriminating: False when the baseline itself is at chance here
    level:        confidence of each limit; above 0.95 where several attempts share the error budget of a run
    """

    slice: str
    gated: bool
    margin: float
    counts: PairedCounts
    baseline_score: float | None
    candidate_score: float | None
    drop: float | None
    low: float | None
    high: float | None
    p_value: float | None
    verdict: Verdict
    reason: str
    more_prompts: int | None = None
    discriminating: bool = True
    regressed: bool = False
    smallest_visible_drop: float | None = None
    level: float = 0.95


@dataclass(frozen=True)
class AgainstBaseline:
    """One figure of a candidate over the baseline's.

    figure:    its name (`decode_speed`, `ttft_p50`)
    low, high: two-sided limits at `confidence`; None where the blocks carry none
    rounds:    pairs of blocks, or blocks of the side that has fewer when they were not measured in turns
    floor:     what the baseline differed from itself by (A/A), as a fraction: less is no difference
    note:      rounds that were left out, and why
    """

    figure: str
    ratio: float
    low: float | None
    high: float | None
    rounds: int
    in_turns: bool
    floor: float = 0.0
    confidence: float = 0.95
    note: str = ""

    @property
    def differs(self) -> bool | None:
        """Whether there is a difference beyond noise: the limits exclude 1 and the ratio leaves the A/A floor.

        None = there are no limits, so nobody can tell.
        """
        if self.low is None or self.high is None:
            return None
        return not self.low <= 1.0 <= self.high and max(self.ratio, 1.0 / self.ratio) > 1.0 + self.floor


@dataclass(frozen=True)
class TargetResult:
    """One target against one candidate. `met is None` = not measured here (`reason` says why).

    ratio:   to the baseline's figure, by rounds where both were measured in turns
    certain: whether the limits lie on the same side of the target as the value; None = there are no limits to tell
    against: the ratio with its limits, where the target is relative and both were measured
    """

    target: Target
    figure: Figure | None
    baseline: Figure | None
    ratio: float | None
    met: bool | None
    reason: str
    certain: bool | None = None
    against: AgainstBaseline | None = None


@dataclass(frozen=True)
class Looks:
    """How far a confirmation went that may stop early: the plan stood in the record before the first answer.

    planned, asked:           held-back prompts that it may take, and those that it took
    looks_planned, looks_made: times at which it may stop, and those at which it was decided
    why:                      why it ended there, one sentence
    """

    planned: int
    asked: int
    looks_planned: int
    looks_made: int
    why: str

    @property
    def saved(self) -> float:
        """Share of the planned prompts that were not asked."""
        return 1.0 - self.asked / self.planned if self.planned else 0.0


@dataclass(frozen=True)
class CandidateVerdict:
    """The verdict on one candidate, with everything that led to it.

    stage: last gate reached: `apply`, `smoke`, `fidelity`, `speed`, `screening`, `confirmation`
    alpha: the level of the confirmation test, 0 when none was spent
    ratios: its figures over those of the baseline that was measured beside it
    lengths: its answers beside the baseline's on the prompts that judged it; None = it was not asked any
    looks: of the confirmation, where it could stop early; None = every prompt was asked in one go, or none
    """

    candidate: str
    stage: str
    verdict: Verdict
    reasons: tuple[str, ...]
    slices: tuple[SliceVerdict, ...] = ()
    targets: tuple[TargetResult, ...] = ()
    figures: tuple[Figure, ...] = ()
    smoke: Smoke | None = None
    prediction: Prediction = Prediction()
    alpha: float = 0.0
    error: str = ""
    ratios: tuple[AgainstBaseline, ...] = ()
    lengths: LengthRatio | None = None
    looks: Looks | None = None


@dataclass(frozen=True)
class Decision:
    """The verdicts of a run and the one recommended candidate, in a paragraph.

    exit_status: 0 ships and meets every target · 3 nothing meets all · 4 investigate
    closest:     the candidate that the paragraph is about: the recommended one, or else the nearest (empty: none)
    artifact, serve_command: of that candidate
    """

    recommended: str | None
    verdict: Verdict
    exit_status: int
    paragraph: str
    candidates: tuple[CandidateVerdict, ...]
    left_out: tuple[LeftOut, ...]
    artifact: str = ""
    serve_command: str = ""
    closest: str = ""
