"""Scorers: judge one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paredown.contracts.engine import ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score


@dataclass(frozen=True)
class Scorer:
    """Judges one answer.

    likelihood: True when it needs `choices` scored instead of a generated text
    chance:     score of random guessing on this item; None = unknown
    check:      raises ValueError (one sentence, names the field) for an item that it cannot score
    """

    name: str
    summary: str
    version: int
    likelihood: bool
    needs: ScoringLevel
    score: Callable[[GoldenItem, Answer], Score]
    chance: Callable[[GoldenItem], float | None]
    check: Callable[[GoldenItem], None]
    deterministic: bool = True
