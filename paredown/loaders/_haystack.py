"""Generated prose in which a few sentences are hidden: the same text for the same name, on every machine.

All words stand here; nothing is taken from elsewhere. A sentence beside the point is subject, action, place and time,
which makes some hundred thousand different ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TypeVar

SUBJECTS = (
    *("The postman", "An old sailor", "The neighbor", "A young teacher", "The landlord", "My cousin", "The carpenter"),
    *("A woman with a basket", "The night guard", "Somebody from the office", "The youngest brother", "A tired driver"),
    *("The clerk", "One of the guests", "The painter", "A man in a long coat", "The cook", "Her uncle", "The student"),
)
ACTIONS = (
    *("read the newspaper", "waited without a word", "repaired a chair", "counted the carts", "told a long story"),
    *(
        "looked for a lost glove",
        "ate a piece of bread",
        "wrote a short letter",
        "carried two heavy bags",
        "fell asleep",
    ),
    *("talked about the weather", "swept the floor", "drank a cup of tea", "hummed an old tune", "watched the clouds"),
    *("bought some thread", "asked for the time", "peeled a few potatoes", "folded the blankets", "drew a small map"),
)
PLACES = (
    *("near the window", "by the river", "in the kitchen", "at the corner", "behind the house", "on the stairs"),
    *("under a tree", "beside the road", "in the yard", "at the long table", "by the fire", "close to the bridge"),
)
TIMES = (
    *("early in the morning", "after lunch", "on the last day of the month", "before it began to rain", "that evening"),
    *("while the bells rang", "as on every other day", "long before noon", "when nobody was looking", "once again"),
    *("for the second time that week", "in spite of the cold", "until the light was gone", "late in the afternoon"),
)
PIECE = re.compile(r"\w+|[^\w\s]")
SENTENCES_A_PARAGRAPH = 6

Element = TypeVar("Element")


def tokens_of(text: str) -> int:
    """Words and marks of a text: near its number of tokens, as each of these plain words is a token of its own in the
    usual vocabularies. No tokenizer is known here.
    """
    return len(PIECE.findall(text))


def draw(name: str, options: Sequence[Element]) -> Element:
    """One of the options, which follows from the name alone (SHA-256, so that no version of Python changes it)."""
    return options[int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % len(options)]


def draw_several(name: str, options: Sequence[str], count: int) -> list[str]:
    """Different options, in an order that follows from the name alone."""
    return sorted(options, key=lambda option: hashlib.sha256(f"{name}/{option}".encode()).digest())[:count]


def hide(name: str, tokens: int, hidden: Sequence[tuple[float, str]]) -> str:
    """Prose of about `tokens` tokens with each hidden sentence behind that fraction of the others (0 = in front)."""
    wanted = tokens - sum(tokens_of(sentence) for _, sentence in hidden)
    prose: list[str] = []
    while wanted > 0:
        sentence = _sentence(f"{name}/{len(prose)}")
        wanted -= tokens_of(sentence)
        prose.append(sentence)
    placed = [(round(fraction * len(prose)), 0, sentence) for fraction, sentence in hidden]
    placed += [(place, 1, sentence) for place, sentence in enumerate(prose)]
    sentences = [sentence for _, _, sentence in sorted(placed, key=lambda entry: entry[:2])]
    starts = range(0, len(sentences), SENTENCES_A_PARAGRAPH)
    return "\n".join(" ".join(sentences[start : start + SENTENCES_A_PARAGRAPH]) for start in starts)


def _sentence(name: str) -> str:
    parts = [draw(f"{name}/{part}", words) for part, words in enumerate((SUBJECTS, ACTIONS, PLACES, TIMES))]
    return f"{' '.join(parts)}."
