"""Tokens are told apart by what they are, and a space before one is not lost to the tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from paredown.evaluate.audit.token_kinds import TokenKinds, kind_of


class Words:
    """A tokenizer whose tokens are words with their space, and which drops the space before the first one."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:
        parts = [f" {word}" for word in text.split()]
        self.words += [part for part in parts if part not in self.words]
        return tuple(self.words.index(part) for part in parts)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.words[token] for token in ids).removeprefix(" ")

    def incremental(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (" house", "words"),
        ("house", "parts of words"),
        (" дом", "Cyrillic words"),
        ("家", "Cjk parts of words"),
        (" 2026", "digits"),
        (".", "marks"),
        (" (", "marks"),
        ("():", "symbols"),
        ("_", "symbols"),
        ("\n    ", "line ends"),
        ("    ", "indents"),
        (" ", "spaces"),
        ("\ufffd", "parts of letters"),
        ("x1", "parts of words"),
    ],
)
def test_the_kind_of_a_token(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_the_space_before_a_token_counts_though_a_first_token_loses_it() -> None:
    tokenizer = Words()
    kinds = TokenKinds(tokenizer)
    found = kinds.of(tokenizer.encode("a house _", special_tokens=False))
    assert [kinds.names[kind] for kind in found] == ["words", "words", "symbols"]
