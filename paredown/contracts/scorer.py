"""Scorers: judge one answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paredown.contracts.engine import ScoringLevel
from paredown.contracts.needs import Option
from paredown.records.figure import Options
from paredown.records.golden import Answer, GoldenItem, Score

TWIN_SUFFIX = "~twin"
ScoreAnswer = Callable[[GoldenItem, Answer], Score]


def no_twin(item: GoldenItem) -> GoldenItem | None:
    """A scorer without likelihood twins."""
    del item
    return None


@dataclass(frozen=True)
class Scorer:
    """Judges one answer.

    likelihood: True when it needs `choices` scored instead of a generated text
    chance:     score of random guessing on this item; None = unknown
    check:      raises ValueError (one sentence, names the field) for an item that it cannot score
    deterministic: whether the same answer always gets the same score
    pure:       a function of item and answer alone, so that a record can be scored again anywhere; False for what
                asks a server or runs code: then the scores in the record stand
    options:    settings (`--scorer NAME:KEY=VALUE`); with `bind`, which checks them (UserError) and gives the function
                that scores, in place of `score`
    ready:      asked once with the settings, before anything is measured: one sentence on what it will score with and
                what the user must know of it; UserError when it cannot score here (no server, no sandbox)
    at_once:    answers that may be scored at the same time (threads)
    summarize:  one sentence on all its scores of an evaluation (a judge's agreement with itself), or nothing
    twin:       the same question with choices, for a model that cannot write the answer; None = this item has none.
                Same cluster (the item's id where it had none), slice and tags, id `ID~twin`, the scorer `likelihood`
    needs_answer: False when an item may leave `answer` out, because what is right stands in its `arguments`
    one_text:   it scores how likely one given text is: the only choice, after a conversation or by itself
    """

    name: str
    summary: str
    version: int
    likelihood: bool
    needs: ScoringLevel
    score: ScoreAnswer
    chance: Callable[[GoldenItem], float | None]
    check: Callable[[GoldenItem], None]
    deterministic: bool = True
    pure: bool = True
    options: tuple[Option, ...] = ()
    bind: Callable[[Options], ScoreAnswer] | None = None
    ready: Callable[[Options], str] | None = None
    at_once: int = 1
    summarize: Callable[[Sequence[Score]], str] | None = None
    twin: Callable[[GoldenItem], GoldenItem | None] = no_twin
    needs_answer: bool = True
    one_text: bool = False
