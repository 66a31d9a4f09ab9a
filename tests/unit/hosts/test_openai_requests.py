from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paredown.errors import UserError
from paredown.hosts import openai_requests, tokenizer
from paredown.hosts.openai_requests import Ask
from paredown.testing import fake_models

MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.fixture
def tokens(tmp_path: Path) -> tokenizer.LoadedTokenizer:
    return tokenizer.load(fake_models.make(tmp_path / "m", context_length=100))


def ask(tokens: tokenizer.LoadedTokenizer, *, chat: bool = True, **body: Any) -> Ask:
    given = {"messages": MESSAGES} if chat else {}
    return openai_requests.parse_ask(given | body, tokens, "m", chat=chat)


def test_without_max_tokens_the_rest_of_the_context_may_be_used(tokens: tokenizer.LoadedTokenizer) -> None:
    one = ask(tokens)
    assert one.max_tokens == 100 - len(one.prompt_ids)


def test_a_prompt_may_be_token_ids(tokens: tokenizer.LoadedTokenizer) -> None:
    assert ask(tokens, chat=False, prompt=[5, 6]).prompt_ids == (5, 6)


def test_parts_of_text_are_joined(tokens: tokenizer.LoadedTokenizer) -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}]
    assert ask(tokens, messages=parts).prompt_ids == ask(tokens).prompt_ids


@pytest.mark.parametrize("value", [0, 0.0, None])
def test_a_value_that_changes_nothing_is_accepted(tokens: tokenizer.LoadedTokenizer, value: float | None) -> None:
    assert ask(tokens, temperature=value).max_tokens > 0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"temperature": 0.7}, "temperature=0.7"),
        ({"n": 2}, "n=2"),
        ({"stop": ["."]}, "stop="),
        ({"tools": [{}]}, "tools="),
        ({"logprobs": True}, "logprobs=true"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"model": "other"}, "not 'other'"),
        ({"messages": []}, "at least one message"),
        ({"messages": "hi"}, "must be a list"),
        ({"messages": [{"content": "x"}]}, r"messages\[0\]"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "type `text` only"),
        ({"messages": [{"role": "user", "content": 3}]}, "must be text"),
        ({"max_tokens": 0}, "at least 1"),
        ({"max_tokens": True}, "at least 1"),
        ({"max_tokens": 100}, "Ask for at most"),
        ({"messages": [{"role": "user", "content": "x" * 200}]}, "the answer included"),
        ({"stream": "yes"}, "`stream` must be true or false"),
    ],
)
def test_what_cannot_be_done_as_asked_is_refused(
    tokens: tokenizer.LoadedTokenizer, body: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        ask(tokens, **body)


@pytest.mark.parametrize("prompt", [None, [], "", [1.5], [True], [-1], ["a"], {}])
def test_a_prompt_that_is_neither_text_nor_ids_is_refused(tokens: tokenizer.LoadedTokenizer, prompt: object) -> None:
    with pytest.raises(UserError, match="`prompt`"):
        ask(tokens, chat=False, prompt=prompt)


@pytest.mark.parametrize("raw", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(UserError, match="The body"):
        openai_requests.parse_body(raw)


def test_tokenize_can_leave_out_the_generation_prompt(tokens: tokenizer.LoadedTokenizer) -> None:
    body = json.loads(json.dumps({"messages": MESSAGES}))
    whole = openai_requests.parse_tokenize(body, tokens)
    without = openai_requests.parse_tokenize(body | {"add_generation_prompt": False}, tokens)
    assert whole[: len(without)] == without
    assert len(whole) > len(without)
