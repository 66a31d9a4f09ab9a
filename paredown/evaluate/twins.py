"""Which slices are asked as choices (likelihood twins), because the baseline cannot write their answers.

A prompt that the baseline answers wrong cannot be lost, so a slice that it gets 8 % right can fall by 8 points at most,
whatever happens to the model. Where it writes fewer than one in four right, the prompts that are written are replaced
by their twins: the same question, the right answer among wrong ones. One in four is what guessing among four choices
gives: below it the written prompts show less than choices do even at their worst, and three in four show nothing.

Decided from the baseline's answers to the prompts that choose, before any candidate runs, and then kept: neither a
candidate nor the prompts held back have a say, and prompts that are added later are asked in the same way.
Prompts on which saying nothing can be right (unknown chance level: "call no tool") tell nothing of what the baseline
can write; they are not counted, and are replaced with the others of their slice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from paredown import registry
from paredown.contracts.scorer import TWIN_SUFFIX
from paredown.evaluate import scoring
from paredown.records.golden import Evaluation, GoldenItem

LENGTH = "length"
RIGHT_SHARE = 0.25
LEAST_ITEMS = 3
"""With fewer, none right happens often to a baseline that can write half of them: such a slice stays written."""


@dataclass(frozen=True)
class SliceChoice:
    """What was decided on one slice.

    right: sum of the scores of the `counted` prompts
    cut:   how many of them are wrong and were ended by `max_tokens`
    """

    slice: str
    right: float
    counted: int
    as_choices: bool
    cut: int = 0


@dataclass(frozen=True)
class Twinned:
    """The decision on every slice that has written prompts with a twin, in the order of their names.

    items: the twins themselves, so that a record reads the same whatever later versions make of an item
    """

    slices: tuple[SliceChoice, ...] = ()
    items: tuple[GoldenItem, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Slices that are asked as choices."""
        return tuple(one.slice for one in self.slices if one.as_choices)


def twin_of(item: GoldenItem) -> GoldenItem | None:
    """The item as a choice; None for one that is a choice already, or that has no twin."""
    scorer = registry.scorer(item.scorer)
    return None if scorer.likelihood else scorer.twin(item)


def decide(
    items: Sequence[GoldenItem],
    written: Evaluation,
    further: Sequence[GoldenItem] = (),
    before: Twinned = Twinned(),
    *,
    possible: bool = True,
) -> Twinned:
    """The slices whose written prompts the baseline gets wrong too often; what was decided `before` stays.

    written: the baseline's answers to `items` (as they are written), in their order
    further: items that have no say, but are asked in the same way
    possible: False where no choice can be scored, or none is wanted: then every prompt stays written
    """
    kept = {one.slice: one for one in before.slices}
    found: dict[str, list[float]] = {}
    cut: Counter[str] = Counter()
    for item, answer, score in zip(items, written.answers, written.scores, strict=True):
        if item.slice in kept or twin_of(item) is None:
            continue
        values = found.setdefault(item.slice, [])
        if score.value is not None and scoring.chance(item) is not None:
            values.append(score.value)
            cut[item.slice] += answer.finish_reason == LENGTH and score.value < 1.0
    for name, values in found.items():
        poor = len(values) >= LEAST_ITEMS and sum(values) < RIGHT_SHARE * len(values)
        kept[name] = SliceChoice(name, sum(values), len(values), possible and poor, cut[name])
    decided = Twinned(tuple(kept[name] for name in sorted(kept)))
    names = set(decided.names)
    made = [twin_of(item) for item in (*items, *further) if item.slice in names]
    return Twinned(decided.slices, tuple(twin for twin in made if twin is not None))


def replaced(items: Sequence[GoldenItem], twinned: Twinned) -> tuple[GoldenItem, ...]:
    """The items with twins in place of the written ones of those slices; an item without a twin stays as it is."""
    twins = {twin.id.removesuffix(TWIN_SUFFIX): twin for twin in twinned.items}
    return tuple(twins.get(item.id, item) for item in items)


def with_twins(items: Sequence[GoldenItem], twinned: Twinned) -> tuple[GoldenItem, ...]:
    """All items that may have been asked: those as written, and the twins in their place."""
    return (*items, *twinned.items)


def count(items: Sequence[GoldenItem], twinned: Twinned) -> int:
    """How many of these items, as they are asked, are twins."""
    twins = {twin.id for twin in twinned.items}
    return sum(item.id in twins for item in items)


def sentences(items: Sequence[GoldenItem], twinned: Twinned) -> tuple[str, ...]:
    """For each slice that is asked as choices and has such an item here: how many, and why."""
    found = []
    for one in twinned.slices:
        members = [item for item in items if item.slice == one.slice]
        twins = count(members, twinned)
        limit = f" {one.cut} of its wrong ones were cut by `max_tokens`: raise it if they need more." if one.cut else ""
        if twins:
            found.append(
                f"{twins} of the {len(members)} prompts of {one.slice!r} are asked as choices (likelihood twins): the "
                f"baseline wrote {one.right:g} of {one.counted} right answers, and what is wrong cannot be lost.{limit}"
            )
    return tuple(found)
