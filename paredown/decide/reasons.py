"""Why a slice ships, is rejected, or cannot be told: one or two sentences with figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.decide.limits import Drop
from paredown.records.verdict import PairedCounts, Verdict
from paredown.stats import tango


@dataclass(frozen=True)
class Case:
    """What a sentence about one slice may use."""

    verdict: Verdict
    margin: float
    counts: PairedCounts
    drop: Drop
    more_prompts: int | None
    discriminating: bool
    regressed: bool
    missing: int
    alpha: float


def of_slice(case: Case) -> str:
    """The reason for a verdict, then what else must be known about the slice."""
    parts = [_main(case)]
    if case.regressed and case.verdict is not Verdict.REJECT:
        parts.append("It did become worse: that many losses against so few gains are no accident.")
    if not case.discriminating and case.verdict is not Verdict.INVESTIGATE:
        parts.append(_AT_CHANCE)
    if case.counts.not_scored and case.missing == 0:
        parts.append(f"{prompts(case.counts.not_scored).capitalize()} had no score and {_was(case)} left out.")
    return " ".join(parts)


_AT_CHANCE = "The baseline itself is not clearly better than guessing here, so this slice protects nothing."


def _main(case: Case) -> str:
    counts, drop = case.counts, case.drop
    flips = f"{prompts(counts.n)}: {counts.lost} lost, {counts.gained} gained"
    limit = f"{points(case.margin)} allowed"
    if case.verdict is Verdict.SHIP:
        return f"At most {beside(drop.high, case.margin)} points worse, {limit} ({flips})."
    if case.verdict is Verdict.REJECT:
        return f"At least {beside(drop.low, case.margin)} points worse, {limit} ({flips})."
    if not case.discriminating:
        return f"{_AT_CHANCE} Use prompts that the baseline can answer."
    if drop.high < case.margin:
        return (
            f"The candidate has no score for {prompts(case.missing)} that the baseline answered; if they were losses, "
            f"it would be up to {beside(drop.worst_high, case.margin)} points worse, {limit}."
        )
    low, high = beside(drop.low, case.margin), beside(drop.high, case.margin)
    between = f"Between {low} and {high} points worse, {limit} ({flips})"
    return f"{between}: too few prompts to tell. {_more(case)}"


def _more(case: Case) -> str:
    least = zero_flip_prompts(case.margin, case.alpha)
    if case.counts.n < least:
        small = f"Even without a single loss, {points(case.margin)} take at least {prompts(least)}"
        return f"{small}; expect to need about {rounded(case.more_prompts)} more." if case.more_prompts else f"{small}."
    if case.more_prompts is None:
        return "No practical number of prompts would decide: the true drop seems to lie at the margin."
    return f"About {rounded(case.more_prompts)} more would decide."


def zero_flip_prompts(margin: float, alpha: float) -> int:
    """The fewest prompts that can show the margin, with no flip at all: Tango's limit z²/(n + z²) below it."""
    z = tango.normal_quantile(1.0 - alpha)
    return math.floor(z * z * (1.0 - margin) / margin) + 1


def points(fraction: float) -> str:
    """Percentage points, such as `2.1 points` or `1 point`."""
    text = signed(fraction)
    return f"{text} point" if text == "1" else f"{text} points"


def signed(fraction: float) -> str:
    """Percentage points as a bare number with one digit where it needs one; a true minus sign."""
    value = round(100.0 * fraction, 1)
    text = f"{abs(value):.1f}".removesuffix(".0")
    return f"−{text}" if value < 0 else text


def beside(fraction: float, margin: float) -> str:
    """As `signed`, with as many digits as it takes to read differently from the margin it is compared with."""
    for digits in (1, 2, 3):
        if round(100.0 * fraction, digits) != round(100.0 * margin, digits):
            break
    text = f"{abs(round(100.0 * fraction, digits)):.{digits}f}".rstrip("0").rstrip(".")
    return f"−{text}" if round(100.0 * fraction, digits) < 0 else text


def prompts(count: int) -> str:
    return "1 prompt" if count == 1 else f"{count:,} prompts"


def rounded(count: int) -> str:
    """Two significant digits, upwards: an estimate should not look exact."""
    if count < 10:
        return str(count)
    step = 10 ** (len(str(count)) - 2)
    return f"{-(-count // step) * step:,}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """`a, b and c`; beyond `most` names the number of the others."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _was(case: Case) -> str:
    return "was" if case.counts.not_scored == 1 else "were"
