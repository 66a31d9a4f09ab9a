"""Golden items and a tokenizer that needs no files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from paredown.hosts.chat_template import compile_template
from paredown.hosts.tokenizer import ByteTokenizer, LoadedTokenizer
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message

TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"


@pytest.fixture
def item() -> Callable[..., GoldenItem]:
    def make(
        name: str,
        prompt: str = "",
        slice_name: str = "s",
        choices: Sequence[str] = (),
        system: str = "",
        cluster: str = "",
        arguments: Mapping[str, str] | None = None,
    ) -> GoldenItem:
        messages = (*((Message("system", system),) if system else ()), Message("user", prompt or name))
        scorer = "likelihood" if choices else "exact_match"
        return GoldenItem(
            name,
            slice_name,
            scorer,
            messages,
            "0",
            choices=tuple(choices),
            arguments=arguments or {},
            cluster=cluster,
        )

    return make


@pytest.fixture
def tokens() -> Callable[..., LoadedTokenizer]:
    def make(template: str = TEMPLATE, context_length: int | None = 1000) -> LoadedTokenizer:
        return LoadedTokenizer(ByteTokenizer(), compile_template(template, {}), context_length, ())

    return make
