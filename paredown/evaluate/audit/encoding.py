"""Golden items as the model gets them: rendered by its chat template, cut by its tokenizer. No model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.errors import UserError
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records.golden import GoldenItem


@dataclass(frozen=True)
class Encoded:
    """An item with its rendered conversation, as text and token ids, and the token ids of each choice.

    refused: why the chat template does not render it; text and ids are empty then
    A text that stands by itself has no conversation, and its tokens as the one choice; a raw prompt (`arguments.raw`)
    is plain text without a template, so that only its ids are known.
    """

    item: GoldenItem
    text: str = ""
    ids: tuple[int, ...] = ()
    choices: tuple[tuple[int, ...], ...] = ()
    refused: str = ""

    @property
    def longest(self) -> int:
        """Tokens of the conversation with its longest choice, or with the longest answer that it may get."""
        return len(self.ids) + max((len(choice) for choice in self.choices), default=self.item.max_tokens)


def encode(items: Sequence[GoldenItem], tokens: LoadedTokenizer) -> tuple[Encoded, ...]:
    """Each item as `answers` would ask it."""
    return tuple(_encode(item, tokens) for item in items)


def is_conversation(item: GoldenItem) -> bool:
    """Whether the chat template renders it."""
    return bool(item.messages) and not item.arguments.get("raw", False)


def _encode(item: GoldenItem, tokens: LoadedTokenizer) -> Encoded:
    if not item.messages:
        return Encoded(item, choices=tuple(tokens.tokenizer.encode(one, special_tokens=True) for one in item.choices))
    if not is_conversation(item):
        text = item.messages[0].content
        ids = tokens.tokenizer.encode(text.rstrip(), special_tokens=True)
        wholes = [tokens.tokenizer.encode(text + choice, special_tokens=True) for choice in item.choices]
        return Encoded(item, ids=ids, choices=tuple(whole[len(ids) :] for whole in wholes))
    choices = tuple(tokens.tokenizer.encode(one, special_tokens=False) for one in item.choices)
    try:
        text = tokens.render([message.plain for message in item.messages], add_generation_prompt=True)
    except UserError as error:
        return Encoded(item, choices=choices, refused=str(error))
    return Encoded(item, text, tokens.tokenizer.encode(text, special_tokens=False), choices)
