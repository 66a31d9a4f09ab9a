"""A confirmation look by look: which prompts are asked next, when it ends, and the verdict on every slice.

Pure: the frozen order, the sizes of the looks and the scores give the same course again. Each gate is decided by its
own group-sequential plan (`stats.sequential`) at its own number of prompts at each look; one that has shipped stays
shipped, and its prompts are not asked any more unless another gate needs them. Graded gates have no plan and
decide at the last look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from paredown.decide import gate_course, pairs, slices
from paredown.decide.gate_course import Course
from paredown.decide.slices import Chance
from paredown.records.golden import Evaluation, GoldenItem
from paredown.records.verdict import Looks, Margin, SliceVerdict

_SHIPPED = "Every gate had shipped."


@dataclass(frozen=True)
class Asked:
    """What is confirmed: the held-back items in their frozen order, how many each look takes, and the gates.

    margins: gates and watched slices; alpha: one-sided error of each; next_alpha: that of a next attempt
    """

    order: tuple[GoldenItem, ...]
    sizes: tuple[int, ...]
    margins: tuple[Margin, ...]
    alpha: float
    next_alpha: float


@dataclass(frozen=True)
class Walk:
    """How far a confirmation has come.

    wanted: items to be asked next, in their order; none = it has ended
    slices: a verdict for each margin in their order, then one for the zero-tolerance items; empty until it has ended
    """

    wanted: tuple[GoldenItem, ...]
    looks: Looks | None = None
    slices: tuple[SliceVerdict, ...] = ()


def walk(
    asked: Asked,
    baseline: Evaluation,
    candidate: Evaluation,
    chance: Chance,
    is_open: Callable[[Evaluation], bool] = lambda _: False,
) -> Walk:
    """Go through the looks with the scores that there are.

    baseline:  scores of all items; those that it has no score for count nowhere
    candidate: scores of the items asked so far; None = no score, which counts as lost for a SHIP
    is_open:   whether something beside the gates still needs prompts (answer lengths): then all are asked that are due
    """
    answered = {score.item for score in candidate.scores}
    courses = [gate_course.begin(margin, asked.order, asked.sizes, baseline, chance) for margin in asked.margins]
    strict = [item for item in asked.order if item.zero_tolerance]
    taken: set[str] = set()
    everything = False
    for look, size in enumerate(asked.sizes):
        due = list(asked.order[:size]) if everything else _due(asked, courses, size)
        due += strict if look == 0 else []
        taken |= {item.id for item in due}
        wanted = tuple(item for item in asked.order if item.id in taken and item.id not in answered)
        if wanted:
            return Walk(wanted)
        courses = [
            gate_course.decide(course, look, baseline, candidate, asked.alpha, _peers(courses, course))
            if all(item.id in taken for item in course.items[: course.due[look]])
            else course
            for course in courses
        ]
        courses = gate_course.reject(courses, look, asked.alpha)
        lost = slices.lost_among(pairs.pair(baseline, candidate, strict))
        last = look == len(asked.sizes) - 1
        why = _ended(courses, lost, last=last)
        seen = _only(candidate, taken)
        if why == _SHIPPED and not last and is_open(seen):
            everything = True
            continue
        if why:
            looks = Looks(len(asked.order), len(taken), len(asked.sizes), look + 1, why)
            rows = gate_course.rows(courses, asked.alpha, asked.next_alpha)
            zero = slices.zero_tolerance(baseline, candidate, strict, asked.alpha)
            return Walk((), looks, (*rows, *zero))
    raise ValueError("A confirmation needs at least one look.")


def _due(asked: Asked, courses: Sequence[Course], size: int) -> list[GoldenItem]:
    """The first `size` items, without those whose gates have all shipped."""
    gates = [course for course in courses if course.margin.gated]
    members = [{item.id for item in course.items} for course in gates]
    due = []
    for item in asked.order[:size]:
        own = [course for course, ids in zip(gates, members, strict=True) if item.id in ids]
        if not own or any(course.shipped_at is None for course in own):
            due.append(item)
    return due


def _only(candidate: Evaluation, ids: set[str]) -> Evaluation:
    """What was known at an earlier look, when more is known now."""
    return replace(
        candidate,
        answers=tuple(answer for answer in candidate.answers if answer.item in ids),
        scores=tuple(score for score in candidate.scores if score.item in ids),
    )


def _peers(courses: Sequence[Course], course: Course) -> int:
    """How many slices are judged together with this one: the gates, or the watched ones."""
    return sum(1 for other in courses if other.margin.gated is course.margin.gated and other.sizes)


def _ended(courses: Sequence[Course], lost: Sequence[str], *, last: bool) -> str:
    """Why the confirmation ends at this look, empty when it goes on."""
    gates = [course for course in courses if course.margin.gated]
    rejected = [course.margin.slice for course in gates if course.rejected_at is not None]
    futile = [course.margin.slice for course in gates if course.futile]
    if lost:
        return f"{lost[0]} was lost, on which any loss rejects."
    if rejected:
        return f"The gate {rejected[0]!r} was rejected."
    if gates and all(course.shipped_at is not None for course in gates):
        return _SHIPPED
    if last:
        return "Every planned prompt was asked."
    if futile:
        return f"The gate {futile[0]!r} would hardly have shipped any more."
    return ""
