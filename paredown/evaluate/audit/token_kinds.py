"""What kind of thing a token is: a word, a part of one, digits, a mark of a sentence, a symbol … in which script.

Coarse on purpose: English prose and English questions share these kinds though they share few of their rarer words,
and source code, tables and other languages do not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from paredown.hosts.tokenizer import Tokenizer

SENTENCE_MARKS = frozenset(".,;:!?'\"“”‘’()–—…-¿¡。，、？！：；（）「」")
SPLIT_LETTER = "\ufffd"
LATIN = "LATIN"


class TokenKinds:
    """Kinds by number, in the order in which they were met; `names[number]` says what it is."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # Behind another token, because many tokenizers drop the space before the first one.
        self._before = tokenizer.encode("a", special_tokens=False)
        self._skip = len(tokenizer.decode(self._before))
        self._known: dict[int, int] = {}
        self.names: list[str] = []

    def of(self, ids: Sequence[int]) -> NDArray[np.int64]:
        """The kind of each token."""
        return np.array([self._kind(token) for token in ids], dtype=np.int64)

    def _kind(self, token: int) -> int:
        if token not in self._known:
            name = kind_of(self._tokenizer.decode((*self._before, token))[self._skip :])
            if name not in self.names:
                self.names.append(name)
            self._known[token] = self.names.index(name)
        return self._known[token]


def kind_of(text: str) -> str:
    """The kind of a token by its text; a leading space makes the difference between a word and a part of one."""
    stripped = text.strip()
    if not stripped:
        return "line ends" if "\n" in text else "indents" if len(text) > 1 else "spaces"
    if SPLIT_LETTER in stripped:
        return "parts of letters"
    if stripped.isdigit():
        return "digits"
    letter = next((one for one in stripped if one.isalpha()), "")
    if letter:
        script = unicodedata.name(letter, "OTHER").partition(" ")[0]
        what = "words" if text[:1].isspace() else "parts of words"
        return what if script == LATIN else f"{script.capitalize()} {what}"
    return "marks" if len(stripped) == 1 and stripped in SENTENCE_MARKS else "symbols"
