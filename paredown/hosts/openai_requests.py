"""OpenAI-shaped request bodies, checked: what cannot be done as asked is refused with a sentence, never ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paredown.errors import UserError
from paredown.hosts.tokenizer import LoadedTokenizer

NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "temperature": (0,),
    "n": (1,),
    "best_of": (1,),
    "stop": ([],),
    "tools": ([],),
    "functions": ([],),
    "logprobs": (False, 0),
    "top_logprobs": (0,),
    "prompt_logprobs": (0,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "echo": (False,),
    "suffix": ("",),
    "min_tokens": (0,),
    "response_format": ({"type": "text"},),
}
"""Fields that change the answer, and the values that mean the same as leaving them out."""


class BadRequest(UserError):
    """Answered with HTTP 400."""


@dataclass(frozen=True)
class Ask:
    """A generation as asked for over HTTP."""

    chat: bool
    prompt_ids: tuple[int, ...]
    max_tokens: int
    stream: bool
    ignore_eos: bool
    return_token_ids: bool


def parse_body(raw: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    return body


def parse_ask(body: Mapping[str, Any], tokens: LoadedTokenizer, model_name: str, *, chat: bool) -> Ask:
    """Raises BadRequest (one sentence, names the field)."""
    _check_model(body, model_name)
    for name, allowed in NEUTRAL.items():
        value = body.get(name)
        if value is not None and value not in allowed:
            raise BadRequest(
                f"{name}={json.dumps(value)} is not supported: this server decodes greedily. Leave it out."
            )
    prompt_ids = _chat_ids(body, tokens) if chat else _prompt_ids(body.get("prompt"), tokens)
    return Ask(
        chat=chat,
        prompt_ids=prompt_ids,
        max_tokens=_max_tokens(body, len(prompt_ids), tokens.context_length),
        stream=_flag(body, "stream"),
        ignore_eos=_flag(body, "ignore_eos"),
        return_token_ids=_flag(body, "return_token_ids"),
    )


def parse_tokenize(body: Mapping[str, Any], tokens: LoadedTokenizer) -> tuple[int, ...]:
    """`messages` + `add_generation_prompt` (default true), or `prompt` + `add_special_tokens` (default true)."""
    if "messages" in body:
        return _chat_ids(body, tokens, add_generation_prompt=body.get("add_generation_prompt") is not False)
    prompt = body.get("prompt")
    if not isinstance(prompt, str):
        raise BadRequest("Give `messages`, or `prompt` as text.")
    return tokens.tokenizer.encode(prompt, special_tokens=body.get("add_special_tokens") is not False)


def _check_model(body: Mapping[str, Any], model_name: str) -> None:
    model = body.get("model")
    if model is not None and model != model_name:
        raise BadRequest(f"This server has the model {model_name!r}, not {model!r}.")


def _chat_ids(
    body: Mapping[str, Any], tokens: LoadedTokenizer, *, add_generation_prompt: bool = True
) -> tuple[int, ...]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("`messages` must be a list with at least one message.")
    return tokens.encode_conversation(
        [_message(m, i) for i, m in enumerate(messages)], add_generation_prompt=add_generation_prompt
    )


def _message(message: Any, index: int) -> Mapping[str, Any]:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise BadRequest(f"`messages[{index}]` must be an object with `role` and `content`.")
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_part(part, index) for part in content)
    if not isinstance(content, str):
        raise BadRequest(f"`messages[{index}].content` must be text.")
    return {**message, "content": content}


def _part(part: Any, index: int) -> str:
    if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
        raise BadRequest(f"`messages[{index}].content` may hold parts of the type `text` only.")
    return str(part["text"])


def _prompt_ids(prompt: Any, tokens: LoadedTokenizer) -> tuple[int, ...]:
    if isinstance(prompt, str):
        ids = tokens.tokenizer.encode(prompt, special_tokens=True)
    elif isinstance(prompt, list) and all(isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in prompt):
        ids = tuple(prompt)
    else:
        raise BadRequest("`prompt` must be text or a list of token ids.")
    if not ids:
        raise BadRequest("`prompt` is empty.")
    return ids


def _max_tokens(body: Mapping[str, Any], prompt_tokens: int, context_length: int | None) -> int:
    wanted = body.get("max_tokens")
    if wanted is None:
        wanted = body.get("max_completion_tokens")
    if wanted is not None and (not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1):
        raise BadRequest("`max_tokens` must be a whole number of at least 1.")
    if context_length is None:
        if wanted is None:
            raise BadRequest("Give `max_tokens`: the model's files do not say how long its context is.")
        return int(wanted)
    room = context_length - prompt_tokens
    if room < 1:
        raise BadRequest(
            f"The prompt has {prompt_tokens} tokens; this model's context is {context_length}, the answer included."
        )
    if wanted is not None and wanted > room:
        raise BadRequest(
            f"The prompt has {prompt_tokens} tokens and max_tokens is {wanted}; the context of this model is "
            f"{context_length}. Ask for at most {room}."
        )
    return int(wanted or room)


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"`{name}` must be true or false.")
    return bool(value)
