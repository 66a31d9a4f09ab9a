"""What reading a traffic needs of a tokenizer: the length of a conversation as the server will count it."""

from __future__ import annotations

from typing import Protocol

from paredown.hosts.chat_template import Conversation


class Tokens(Protocol):
    """The model's own tokenizer with its chat template: `hosts.tokenizer.LoadedTokenizer`, or a server's /tokenize.

    context_length: positions of the model; None = not known
    Compared by identity, so that what was found out of one is not asked again.
    """

    def __hash__(self) -> int: ...

    @property
    def context_length(self) -> int | None: ...

    def encode_conversation(self, messages: Conversation) -> tuple[int, ...]: ...
