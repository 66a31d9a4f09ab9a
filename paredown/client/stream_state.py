"""What a stream has said so far: chunks, text, usage, end. Reads one event at a time and never raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paredown.records.events import ChunkEvent

DONE = b"[DONE]"
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning", "text")


@dataclass
class StreamState:
    """Filled by `read_event`; `failure` ends the reading. `empty_ns`: events that carried neither token nor text."""

    chunks: list[ChunkEvent] = field(default_factory=list)
    empty_ns: list[int] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    usage_prompt_tokens: int | None = None
    usage_output_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str = ""
    done: bool = False
    failure: str = ""
    detail: str = ""

    def fail(self, failure: str, detail: str) -> None:
        """The first failure stays; later ones follow from it."""
        if not self.failure:
            self.failure, self.detail = failure, detail[:500]

    def token_chunks(self) -> tuple[ChunkEvent, ...]:
        """Chunks that carried tokens. Where the server names token ids, text without an id is no token."""
        with_ids = tuple(chunk for chunk in self.chunks if chunk.token_ids)
        return with_ids or tuple(self.chunks)

    def tokenless_ns(self) -> tuple[int, ...]:
        """When events arrived that are not among `token_chunks`, ascending."""
        if not any(chunk.token_ids for chunk in self.chunks):
            return tuple(self.empty_ns)
        return tuple(sorted([*self.empty_ns, *(c.arrived_ns for c in self.chunks if not c.token_ids)]))

    def output_tokens(self) -> int:
        """The server's `usage`, else the number of token ids, else the number of chunks that carried text."""
        if self.usage_output_tokens is not None:
            return self.usage_output_tokens
        return sum(len(chunk.token_ids) or 1 for chunk in self.token_chunks())


def read_event(state: StreamState, data: bytes, arrived_ns: int) -> None:
    """Take one event in. Anything that is not what the wire promises becomes `state.failure`."""
    if data == DONE:
        state.done = True
        return
    try:
        event = json.loads(data.decode())
    except ValueError as error:
        state.fail("malformed", f"Not JSON ({error}): {data[:200]!r}")
        return
    try:
        chunks = len(state.chunks)
        _read_object(state, event, arrived_ns)
        if len(state.chunks) == chunks and not state.failure:
            state.empty_ns.append(arrived_ns)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        state.fail("malformed", f"Not the shape of a chunk ({error}): {data[:200]!r}")


def error_text(body: object) -> str:
    """The message of an OpenAI error object (`{"error": {"message", "type", "code"}}` or a bare text), else empty."""
    if not isinstance(body, Mapping) or not body.get("error"):
        return ""
    error = body["error"]
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("type") or error)
    return str(error)


def _read_object(state: StreamState, event: Any, arrived_ns: int) -> None:
    if not isinstance(event, dict):
        raise TypeError("not an object")
    if event.get("error"):
        state.fail("error_object", error_text(event))
        return
    usage = event.get("usage")
    if usage is not None:
        _read_usage(state, usage)
    choices = event.get("choices")
    if not choices:
        return
    choice = choices[0]
    if choice.get("index", 0) != 0:
        return
    delta = choice.get("delta") or {}
    token_ids = _token_ids(choice.get("token_ids"))
    text = _text(choice, delta)
    if token_ids or text or delta.get("tool_calls"):
        stamp = event.get("paredown")
        engine_ns = stamp.get("engine_ns") if isinstance(stamp, dict) else None
        if engine_ns is not None and type(engine_ns) is not int:
            raise TypeError("engine_ns is not a whole number")
        state.chunks.append(ChunkEvent(arrived_ns, token_ids, engine_ns))
    if text:
        state.text.append(text)
    if choice.get("finish_reason"):
        state.finish_reason = str(choice["finish_reason"])


def _token_ids(plain: Any) -> tuple[int, ...]:
    if not plain:
        return ()
    if not isinstance(plain, list) or any(type(token) is not int for token in plain):
        raise TypeError("token_ids is not a list of whole numbers")
    return tuple(plain)


def _text(choice: Mapping[str, Any], delta: Mapping[str, Any]) -> str:
    for source in (delta, choice):
        for name in _TEXT_FIELDS:
            value = source.get(name)
            if value:
                if not isinstance(value, str):
                    raise TypeError(f"{name} is not text")
                return value
    return ""


def _read_usage(state: StreamState, usage: Mapping[str, Any]) -> None:
    state.usage_output_tokens = _count(usage, "completion_tokens", state.usage_output_tokens)
    state.usage_prompt_tokens = _count(usage, "prompt_tokens", state.usage_prompt_tokens)
    details = usage.get("prompt_tokens_details")
    if isinstance(details, Mapping):
        state.cached_tokens = _count(details, "cached_tokens", state.cached_tokens)


def _count(fields: Mapping[str, Any], name: str, before: int | None) -> int | None:
    value = fields.get(name)
    if value is None:
        return before
    if type(value) is not int or value < 0:
        raise TypeError(f"{name} is not a count")
    return value
