"""One gate (or watched slice) through the looks of a confirmation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from paredown.decide import limits, pairs, slices
from paredown.decide.limits import Drop
from paredown.decide.pairs import Pair, Pairs
from paredown.decide.slices import Chance, Row
from paredown.records.golden import Evaluation, GoldenItem
from paredown.records.verdict import Margin, SliceVerdict
from paredown.stats import holm, mcnemar, power, sequential, tango
from paredown.stats.sequential import SequentialPlan, Stop

LONGER = 1.2
"""A plan with looks takes about a fifth more prompts than the fixed test (15 to 27 %)."""


@dataclass(frozen=True)
class Course:
    """Where a gate stands.

    items:  its prompts in the frozen order; due: how many of them are due by each look
    sizes:  how many of those have a baseline score; none where no prompt has one
    early:  whether it has a plan: right-or-wrong scores, and more than one look. Where prompts share a document, the
            limits over documents must agree, at the same levels: neither the plan nor they alone decide then
    counted: look by look the pairs due, from the first look on
    """

    margin: Margin
    items: tuple[GoldenItem, ...]
    due: tuple[int, ...]
    sizes: tuple[int, ...]
    early: bool
    discriminating: bool
    counted: tuple[Pairs, ...] = ()
    plan: SequentialPlan | None = None
    shipped_at: int | None = None
    rejected_at: int | None = None
    futile: bool = False

    @property
    def ended_at(self) -> int:
        """The look whose counts its verdict is about."""
        return self.shipped_at if self.shipped_at is not None else len(self.counted) - 1

    def place(self, look: int) -> int | None:
        """Index in its plan of a look of the run; None before its first prompt."""
        size = self.sizes[look]
        return None if self.plan is None or size == 0 else [at.n for at in self.plan.looks].index(size)


def begin(
    margin: Margin, order: Sequence[GoldenItem], looks: Sequence[int], baseline: Evaluation, chance: Chance
) -> Course:
    """A gate before the first look: all of this follows from the baseline."""
    items = pairs.members(margin, order)
    alone = pairs.pair(baseline, baseline, items)
    own, scored = {item.id for item in items}, {pair.item.id for pair in alone.pairs}
    due = tuple(sum(item.id in own for item in order[:size]) for size in looks)
    sizes = tuple(sum(item.id in scored for item in items[:count]) for count in due)
    early = bool(alone.pairs) and alone.binary and len(looks) > 1
    discriminating = not alone.pairs or slices.above_chance(alone, chance)
    return Course(margin, items, due, sizes if alone.pairs else (), early, discriminating)


def decide(course: Course, look: int, baseline: Evaluation, candidate: Evaluation, alpha: float, peers: int) -> Course:
    """The gate after a look: whether it has shipped, and whether it can still be expected to."""
    if not course.sizes or course.shipped_at is not None:
        return course
    paired = pairs.pair(baseline, candidate, course.items[: course.due[look]])
    counted = replace(course, counted=(*course.counted, _floored(paired, course.early)))
    if not course.early:
        return counted
    rising = tuple(sorted({size for size in course.sizes if size}))
    planned = replace(counted, plan=sequential.plan_at(rising, course.margin.margin, alpha, peers))
    place = planned.place(look)
    if place is None:
        return planned
    assert planned.plan is not None
    lost, gained = _flips(planned.counted[-1])
    ships = sequential.decide(planned.plan, place, lost, gained) is Stop.SHIP and course.discriminating
    if ships and paired.clustered:
        ships = limits.over_clusters(paired, planned.plan.looks[place].ship_level).worst_high < course.margin.margin
    futile = not ships and sequential.is_futile(planned.plan, place, lost, gained)
    return replace(planned, shipped_at=look if ships else None, futile=futile)


def reject(courses: Sequence[Course], look: int, alpha: float) -> list[Course]:
    """Mark the gates whose drop is shown to exceed the margin: by Holm over the gates, and over the watched slices.

    A gate with a plan is tested at its own looks up to this one, the others at the last one only.
    """
    found = list(courses)
    for gated in (True, False):
        group = [i for i, course in enumerate(found) if course.margin.gated is gated and course.sizes]
        left = set(group)
        while left:
            beyond = {i for i in left if _is_beyond(found[i], look, alpha / len(left), alpha)}
            for i in beyond:
                found[i] = replace(found[i], rejected_at=look)
            left -= beyond
            if not beyond:
                break
    return found


def rows(courses: Sequence[Course], alpha: float, next_alpha: float) -> list[SliceVerdict]:
    """The verdicts, each from the counts at the look where its gate ended."""
    drops = [_drop(course, alpha, next_alpha) for course in courses]
    changed = [
        min(1.0, drop.p_changed * (len(course.sizes) if course.early else 1)) if drop else 1.0
        for course, drop in zip(courses, drops, strict=True)
    ]
    adjusted = holm.adjust(changed)
    made = []
    for course, drop, p_value in zip(courses, drops, adjusted, strict=True):
        seen = course.counted[course.ended_at] if course.counted else Pairs((), (), len(course.items))
        row = Row(course.margin, seen, drop, course.discriminating)
        regressed = drop is not None and drop.value > 0 and p_value <= slices.REGRESSED_ALPHA
        made.append(
            slices.verdict_of(
                row,
                alpha,
                beyond=course.rejected_at is not None,
                regressed=regressed,
                shipped=course.shipped_at is not None if course.early else None,
                note=_note(course),
            )
        )
    return made


def _floored(found: Pairs, early: bool) -> Pairs:
    """With a plan a partly right answer counts as wrong, so that what is counted stays right or wrong."""
    if not early or found.binary:
        return found
    return replace(found, pairs=tuple(Pair(p.item, p.baseline, float(math.floor(p.candidate))) for p in found.pairs))


def _flips(found: Pairs) -> tuple[int, int]:
    """Lost and gained; what only the candidate has no score for is lost."""
    counts = found.counts()
    return counts.lost + len(found.missing), counts.gained


def _is_beyond(course: Course, look: int, level: float, alpha: float) -> bool:
    if course.shipped_at is not None or not course.counted:
        return False
    margin = course.margin.margin
    if course.early:
        assert course.plan is not None
        sizes = tuple(at.n for at in course.plan.looks)
        levels = sequential.reject_levels(sizes, margin, level)
        return any(
            _p_beyond(found, course.sizes[k], margin) < levels[place]
            for k, found in enumerate(course.counted[: look + 1])
            if (place := course.place(k)) is not None
        )
    if len(course.counted) < len(course.sizes) or not course.counted[-1].pairs:
        return False
    drop = limits.of(course.counted[-1], margin, alpha, alpha)
    return drop.p_worse <= level and drop.low > margin


def _p_beyond(found: Pairs, n: int, margin: float) -> float:
    """One-sided p-value against "the drop is at most the margin"; the larger one where prompts share a document."""
    p_value = tango.p_worse(found.counts().lost, found.counts().gained, n, margin)
    return max(p_value, limits.p_over_clusters(found, margin)) if found.clustered else p_value


def _drop(course: Course, alpha: float, next_alpha: float) -> Drop | None:
    """Limits at the look where the gate ended, at the levels that its plan decides with there."""
    if not course.counted or not course.counted[course.ended_at].pairs:
        return None
    found, margin = course.counted[course.ended_at], course.margin.margin
    left = course.sizes[-1] - course.sizes[course.ended_at]
    if not course.early:
        return _with_fresh(limits.of(found, margin, alpha, next_alpha), found, left, longer=1.0)
    place = course.place(course.ended_at)
    assert course.plan is not None
    assert place is not None
    at, counts, n = course.plan.looks[place], found.counts(), len(found.pairs)
    shipping = tango.limits(counts.lost, counts.gained, n, at.ship_level)
    lost, gained = _flips(found)
    low = tango.limits(counts.lost, counts.gained, n, at.reject_level).low
    high, worst = shipping.high, tango.limits(lost, gained, at.n, at.ship_level).high
    if found.clustered:
        wide = limits.over_clusters(found, at.ship_level)
        high, worst = max(high, wide.high), max(worst, wide.worst_high)
        low = min(low, limits.over_clusters(found, at.reject_level).low)
    drop = Drop(
        shipping.drop,
        low,
        high,
        worst,
        _p_beyond(found, n, margin),
        mcnemar.mid_p(counts.lost, counts.gained),
        None
        if course.shipped_at is not None
        else power.prompts_needed(counts.lost, counts.gained, n, margin, next_alpha),
    )
    return _with_fresh(drop, found, left, longer=LONGER)


def _with_fresh(drop: Drop, found: Pairs, left: int, longer: float) -> Drop:
    """A next attempt is judged on prompts that this one has not asked: all that it needs, but for those `left`."""
    if drop.more_prompts is None:
        return drop
    return replace(drop, more_prompts=max(1, math.ceil(longer * (drop.more_prompts + len(found.pairs))) - left))


def _note(course: Course) -> str:
    """What the looks have to do with the verdict."""
    looks = len(course.sizes)
    if looks <= 1 or not course.counted:
        return ""
    made = course.ended_at + 1
    if course.shipped_at is not None:
        return f"Decided at look {made} of {looks}." if made < looks else ""
    if course.rejected_at is not None and made < looks:
        return f"Decided at look {made} of {looks}."
    if made == looks:
        return ""
    if not course.early:
        return f"Stopped after look {made} of {looks}: graded scores decide at the last one only."
    if course.futile:
        return f"Stopped at look {made} of {looks}, because a candidate without a drop hardly ever looks like this."
    return f"Stopped at look {made} of {looks}, because another gate ended the confirmation."
