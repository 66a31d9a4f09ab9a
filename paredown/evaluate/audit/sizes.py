"""Slices too small for their margin: what they can see, and how many prompts are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paredown.evaluate.audit import wording
from paredown.records.audit import Finding, Severity
from paredown.records.golden import GoldenItem
from paredown.records.verdict import Margin
from paredown.spec.targets import POOLED


@dataclass(frozen=True)
class Reach:
    """What a number of items can show; fractions.

    unchanged: items → the smallest margin that they can prove when nothing at all changed
    visible:   items → the smallest true drop that they show; None = not even the loss of all
    needed:    margin → items by which an unharmed candidate passes all gates; None = more than can be asked
    flip_rate: the share of items whose outcome flips that `visible` and `needed` go by
    """

    unchanged: Callable[[int], float]
    visible: Callable[[int], float | None]
    needed: Callable[[float], int | None]
    flip_rate: float


def find(items: Sequence[GoldenItem], margins: Sequence[Margin], reach: Reach) -> tuple[Finding, ...]:
    """items: those that the margins are judged on."""
    counts: dict[str, int] = {}
    for item in items:
        counts[item.slice] = counts.get(item.slice, 0) + 1
    found = []
    for margin in margins:
        pooled = margin.members or (tuple(counts) if margin.slice == POOLED else (margin.slice,))
        number = sum(counts.get(name, 0) for name in pooled)
        if not number:
            sentence = (
                f"The gate {margin.slice!r} has no item to be judged on: it can never pass. Add prompts with this "
                "slice, or take the gate away."
            )
            found.append(Finding("empty slice", sentence, slice=margin.slice))
        elif reach.unchanged(number) >= margin.margin:
            found.append(_too_small(margin, number, reach))
        elif (needed := reach.needed(margin.margin)) is None or needed > number:
            found.append(_few(margin, number, needed, reach))
    return tuple(found)


def _too_small(margin: Margin, number: int, reach: Reach) -> Finding:
    unchanged = reach.unchanged(number)
    sentence = (
        f"The gate {margin.slice!r} has {wording.count(number, 'item')} to be judged on: with no change at all they "
        f"show only that the drop is below {100 * unchanged:.1f} points, and its margin is {100 * margin.margin:g}, so "
        f"that it can never pass. {_seen(number, reach)}{_add(number, reach.needed(margin.margin), reach)}, or allow "
        f"at least {_next_tenth(unchanged)} points."
    )
    return Finding("small slice", sentence, slice=margin.slice)


def _few(margin: Margin, number: int, needed: int | None, reach: Reach) -> Finding:
    sentence = (
        f"The gate {margin.slice!r} has {wording.count(number, 'item')} to be judged on: enough for its margin of "
        f"{100 * margin.margin:g} points if almost nothing flips, but an unharmed candidate will often stay undecided. "
        f"{_seen(number, reach)}{_add(number, needed, reach)}."
    )
    return Finding("few items", sentence, Severity.NOTE, slice=margin.slice)


def _seen(number: int, reach: Reach) -> str:
    visible = reach.visible(number)
    if visible is None:
        return "Not even the loss of all of them would be seen. "
    return f"The smallest true drop that they see is {100 * visible:.0f} points. "


def _add(number: int, needed: int | None, reach: Reach) -> str:
    if needed is None:
        return "More are needed than can be asked: widen the margin"
    flips = f"{100 * reach.flip_rate:g} % of the outcomes flip"
    return f"Add about {needed - number:,} to those held back ({needed:,} are needed where {flips})"


def _next_tenth(fraction: float) -> str:
    return f"{(int(1000 * fraction) + 1) / 10:g}"
