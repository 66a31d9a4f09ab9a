"""Counts and examples in the sentences of findings."""

from __future__ import annotations

from collections.abc import Sequence

MOST_EXAMPLES = 3


def count(number: int, what: str) -> str:
    """`1 item`, `2,000 items`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def items(number: int, singular: str, plural: str) -> str:
    """`1 item has`, `2 items have`."""
    return f"{count(number, 'item')} {singular if number == 1 else plural}"


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:MOST_EXAMPLES])
    more = len(names) - MOST_EXAMPLES
    return f"{shown} and {more:,} more" if more > 0 else shown


def percent(share: float) -> str:
    """Whole percents; what is less than half of one is said to be little, not nothing."""
    return "under 1 %" if 0.0 < share < 0.005 else f"{100 * share:.0f} %"
