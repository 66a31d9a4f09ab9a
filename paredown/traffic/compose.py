"""Prompts put together from a traffic file's own sentences, the same for the same seed.

An opening that differs from prompt to prompt comes first, so that no two of them share a long beginning and a prefix
cache has nothing to flatter.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Composition:
    """words, most_words: each prompt has a random number of words from the one to about the other

    words_for: what may stand for `{name}` in openings, sentences and questions
    """

    seed: int
    count: int
    words: int
    openings: tuple[str, ...]
    sentences: tuple[str, ...]
    questions: tuple[str, ...]
    words_for: Mapping[str, tuple[str, ...]]
    most_words: int = 0

    def names_without_words(self) -> Iterator[str]:
        """Names in braces for which nothing is given."""
        for text in (*self.openings, *self.sentences, *self.questions):
            yield from (name for name in _NAME.findall(text) if not self.words_for.get(name))


def prompts(composition: Composition) -> tuple[str, ...]:
    """`count` prompts, no two alike."""
    chance = random.Random(composition.seed)  # noqa: S311  reproducible text, nothing secret
    made: dict[str, None] = {}
    for attempt in range(composition.count * 50):
        if len(made) == composition.count:
            break
        made.setdefault(_prompt(composition, len(made) + attempt, chance))
    if len(made) < composition.count:
        raise ValueError(f"only {len(made)} different prompts can be put together, {composition.count} were asked for")
    return tuple(made)


def _prompt(composition: Composition, number: int, chance: random.Random) -> str:
    target = chance.randint(composition.words, max(composition.words, composition.most_words))
    parts = [_filled_in(composition.openings[number % len(composition.openings)], composition, chance)]
    order: list[str] = []
    while sum(len(part.split()) for part in parts) < target:
        if not order:
            order = _shuffled(composition.sentences, chance)
        parts.append(_filled_in(order.pop(), composition, chance))
    parts.append(_filled_in(chance.choice(composition.questions), composition, chance))
    return " ".join(parts)


def _filled_in(text: str, composition: Composition, chance: random.Random) -> str:
    return _NAME.sub(lambda match: chance.choice(composition.words_for[match[1]]), text)


def _shuffled(texts: Sequence[str], chance: random.Random) -> list[str]:
    return chance.sample(texts, len(texts))
