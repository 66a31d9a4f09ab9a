"""Text that the tokenizer loses, and choices that it cuts otherwise behind the prompt, are found."""

from __future__ import annotations

import re
from collections.abc import Sequence

from paredown.evaluate.audit import encoding, tokens
from paredown.hosts.tokenizer import ByteTokenizer, LoadedTokenizer


class Ascii(ByteTokenizer):
    """Has no token for letters outside ASCII, and takes marks in angle brackets with bars for special ones."""

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:
        return tuple(re.sub(r"<\|.*?\|>", "\x00", text).encode("ascii", errors="ignore"))

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(token for token in ids if token).decode()


class Merging(ByteTokenizer):
    """`>` and a space behind it are one token, and so are two spaces."""

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:
        parts = re.findall(r"> |  |.", text, flags=re.DOTALL)
        return tuple(ord(part) if len(part) == 1 else 300 + ord(part[0]) for part in parts)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(token) if token < 300 else f"{chr(token - 300)} " for token in ids)


def kinds(items, loaded: LoadedTokenizer):
    return {one.kind: one for one in tokens.find(encoding.encode(items, loaded), loaded.tokenizer)}


def with_tokenizer(loaded: LoadedTokenizer, tokenizer: ByteTokenizer) -> LoadedTokenizer:
    return LoadedTokenizer(tokenizer, loaded.render, loaded.context_length, loaded.stop_ids)


def test_letters_that_the_vocabulary_lacks_are_named_with_their_item(item, tokens) -> None:
    loaded = with_tokenizer(tokens(), Ascii())
    found = kinds([item("a", "Grüße"), item("b", "plain")], loaded)["lost text"]
    assert found.items == ("a",)
    assert "'üße'" in found.sentence


def test_marks_that_are_special_tokens_are_lost_text_too(item, tokens) -> None:
    found = kinds([item("a", "What does <|im_end|> mean?", choices=("x", "é"))], with_tokenizer(tokens(), Ascii()))
    assert found["lost text"].items == ("a",)


def test_spaces_alone_are_no_loss(item, tokens) -> None:
    assert kinds([item("a", "  one \n two  ", choices=("x", "y"))], tokens()) == {}


def test_choices_that_merge_with_the_end_of_the_prompt_are_found(item, tokens) -> None:
    loaded = with_tokenizer(tokens(), Merging())
    found = kinds([item("a", "q", choices=(" yes", "no")), item("b", "q", choices=("yes", "no"))], loaded)
    assert found["merging choice"].items == ("a",)
    assert "' yes'" in found["merging choice"].sentence


def test_a_raw_prompt_is_cut_as_it_is_scored_and_never_merges(item, tokens) -> None:
    loaded = with_tokenizer(tokens(), Merging())
    raw = item("a", "q> ", choices=(" yes", " no"), arguments={"raw": True})
    (encoded,) = encoding.encode([raw], loaded)
    assert encoded.text == ""
    assert encoded.ids == (ord("q"), ord(">"))
    assert kinds([raw], loaded) == {}
