"""Text of tokens that come one by one. A character that is split over tokens is given with its last token."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Protocol


class IncrementalText(Protocol):
    """`add` gives the text that became whole with these tokens; `finish` gives what is left at the end."""

    def add(self, ids: Sequence[int]) -> str: ...
    def finish(self) -> str: ...


class ByteText:
    """For tokens that are bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def add(self, ids: Sequence[int]) -> str:
        return self._decoder.decode(bytes(i for i in ids if i < 256))

    def finish(self) -> str:
        return self._decoder.decode(b"", final=True)


class StreamedText:
    """For real tokenizers: `step` gives the text of one more token, None while a character is not whole.

    Without `step` the whole sequence is decoded each time, and the new end of the text is given.
    All parts joined are `decode(ids)`.
    """

    def __init__(self, step: Callable[[int], str | None] | None, decode: Callable[[Sequence[int]], str]) -> None:
        self._step, self._decode = step, decode
        self._ids: list[int] = []
        self._given: list[str] = []
        self._given_length = 0

    def add(self, ids: Sequence[int]) -> str:
        self._ids.extend(ids)
        text = self._decoded() if self._step is None else "".join(filter(None, map(self._step, ids)))
        self._given.append(text)
        self._given_length += len(text)
        return text

    def _decoded(self) -> str:
        whole = self._decode(self._ids)
        return "" if whole.endswith("\N{REPLACEMENT CHARACTER}") else whole[self._given_length :]

    def finish(self) -> str:
        whole = self._decode(self._ids)
        return whole[self._given_length :] if whole.startswith("".join(self._given)) else ""
