"""Errors are counted per run: every confirmation spends from one fixed α budget, kept in the record.

The k-th confirmation is tested at 0.04, 0.008, 0.0016 … (4/5 of the budget, then 4/5 of what is left): the sum never
exceeds 0.05, however many candidates are tried or prompts are added, and whatever the results were (union bound). The
first attempt gets most because it is usually the only one; it needs 9 % more prompts than a test that spends all,
against 27 % with halves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paredown.records import codec

TOTAL = 0.05
SHARE = 0.8


@dataclass(frozen=True)
class Attempt:
    """One confirmation: which candidate, on which prompts, at what one-sided level."""

    candidate_digest: str
    items_digest: str
    alpha: float


@dataclass(frozen=True)
class AlphaBudget:
    """Kept in the store and read again when the same command is run with more prompts."""

    total: float = TOTAL
    attempts: tuple[Attempt, ...] = ()

    @property
    def next_alpha(self) -> float:
        """Level of the next new attempt."""
        return self.total * SHARE * (1.0 - SHARE) ** len(self.attempts)

    @property
    def spent(self) -> float:
        return sum(attempt.alpha for attempt in self.attempts)


@dataclass(frozen=True)
class Spending:
    """The budget after an attempt, and the level that the attempt is tested at."""

    budget: AlphaBudget
    alpha: float


def spend(budget: AlphaBudget, candidate_digest: str, item_ids: tuple[str, ...]) -> Spending:
    """Spend on one confirmation. The same candidate on the same prompts again is the same attempt and costs nothing.

    item_ids: digests or ids that name the confirmation prompts; their order does not matter
    """
    items = codec.digest(sorted(item_ids))
    for attempt in budget.attempts:
        if (attempt.candidate_digest, attempt.items_digest) == (candidate_digest, items):
            return Spending(budget, attempt.alpha)
    attempt = Attempt(candidate_digest, items, budget.next_alpha)
    return Spending(replace(budget, attempts=(*budget.attempts, attempt)), attempt.alpha)
