"""Likelihood twins: the same question with the right answer among wrong ones that are made from the item alone.

Shared by scorers, and none itself. Everything follows from the item: no list of the world's names, no chance.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable

from paredown.contracts.scorer import TWIN_SUFFIX
from paredown.records.golden import GoldenItem

SCORER = "likelihood"
MOST_WRONG = 5
NORMALIZE = "tokens"


def make(item: GoldenItem, right: str, wrong: Iterable[str], *, normalize: str = "none") -> GoldenItem | None:
    """The item with these answers as choices, in an order that follows from its id; None when no wrong one is left."""
    others = [text for text in dict.fromkeys(wrong) if text and text != right][:MOST_WRONG]
    if not right or not others:
        return None
    choices = sorted([right, *others], key=lambda text: hashlib.sha256(f"{item.id}\n{text}".encode()).digest())
    return dataclasses.replace(
        item,
        id=f"{item.id}{TWIN_SUFFIX}",
        scorer=SCORER,
        choices=tuple(choices),
        answer=str(choices.index(right)),
        arguments={} if normalize == "none" else {"normalize": normalize},
        cluster=item.cluster or item.id,
    )
