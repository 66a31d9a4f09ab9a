"""What the timed server answers and when: bytes made once, and the planned time of every write."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

TEXT = " the"  # one token in the vocabularies of common models, so that tools that count text count right
FIRST_TOKEN_ID = 1000
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True)
class TimedAnswer:
    """Every answer of a timed server. Times count from the receipt of a request's last byte.

    ttft_ms:        until the first token is written
    itl_ms:         from one token to the next
    tokens:         tokens of each answer, one a chunk, whatever the request asks for
    role_ms:        when a chunk is written that has a role and no token; None = no such chunk
    early_head:     HTTP status and headers leave at once instead of with the first chunk
    token_ids:      chunks name their token ids when the request asks for them
    usage, done:    whether the stream ends with token counts and with `[DONE]`
    prompt_tokens:  what `usage` says of every prompt; cached_tokens: of its prefix cache; None = nothing
    jitter_ms:      each delay is longer or shorter by at most this, uniformly, drawn from the seed
    """

    ttft_ms: float = 50.0
    itl_ms: float = 20.0
    tokens: int = 16
    role_ms: float | None = None
    early_head: bool = False
    token_ids: bool = True
    usage: bool = True
    done: bool = True
    prompt_tokens: int = 32
    cached_tokens: int | None = None
    jitter_ms: float = 0.0
    seed: int = 0
    model_name: str = "timed"

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError("tokens must be at least 1")
        if min(self.ttft_ms, self.itl_ms, self.jitter_ms, self.role_ms or 0.0) < 0:
            raise ValueError("delays must not be negative")
        if (self.role_ms or 0.0) > self.ttft_ms - self.jitter_ms:
            raise ValueError("the role-only chunk must not come after the first token")


@dataclass(frozen=True)
class Frames:
    """The writes of one answer, in order. `tokens_from`: index of the first that carries a token."""

    writes: tuple[bytes, ...]
    tokens_from: int


def frames(answer: TimedAnswer, *, with_token_ids: bool) -> Frames:
    """All bytes of an answer; the end of the stream is in the write of its last token."""
    writes = []
    if answer.role_ms is not None:
        writes.append(_http_chunk(_event(_chunk(answer, {"role": "assistant", "content": ""}))))
    tokens_from = len(writes)
    for index in range(answer.tokens):
        last = index == answer.tokens - 1
        event = _event(
            _chunk(
                answer,
                {"content": TEXT},
                finish_reason="length" if last else None,
                token_ids=[FIRST_TOKEN_ID + index] if with_token_ids else None,
            )
        )
        writes.append(_http_chunk(event + _end(answer)) + LAST_CHUNK if last else _http_chunk(event))
    if not answer.early_head:
        writes[0] = HEAD + writes[0]
    return Frames(tuple(writes), tokens_from)


def planner(answer: TimedAnswer) -> Callable[[], tuple[int, ...]]:
    """A function that gives the planned time of each write of the next answer, in ns after receipt."""
    role = () if answer.role_ms is None else (round(answer.role_ms * 1e6),)
    ttft_ns, itl_ns, jitter_ns = (round(ms * 1e6) for ms in (answer.ttft_ms, answer.itl_ms, answer.jitter_ms))
    steady = role + tuple(ttft_ns + index * itl_ns for index in range(answer.tokens))
    if not jitter_ns:
        return lambda: steady
    generator = random.Random(answer.seed)  # noqa: S311  no secret is made

    def varied() -> tuple[int, ...]:
        times, time_ns = list(role), 0
        for index in range(answer.tokens):
            delay = (itl_ns if index else ttft_ns) + generator.randint(-jitter_ns, jitter_ns)
            time_ns += max(0, delay)
            times.append(time_ns)
        return tuple(times)

    return varied


def plain(status: str, body: Mapping[str, object]) -> bytes:
    """A whole JSON answer that is not a stream."""
    raw = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


def models(answer: TimedAnswer) -> bytes:
    """The answer to GET /v1/models."""
    model = {"id": answer.model_name, "object": "model", "created": 0, "owned_by": "timed_server"}
    return plain("200 OK", {"object": "list", "data": [model]})


def _chunk(
    answer: TimedAnswer,
    delta: Mapping[str, str],
    *,
    finish_reason: str | None = None,
    token_ids: list[int] | None = None,
) -> dict[str, object]:
    choice: dict[str, object] = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    if token_ids is not None:
        choice["token_ids"] = token_ids
    return _object(answer, [choice])


def _object(answer: TimedAnswer, choices: list[dict[str, object]]) -> dict[str, object]:
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": answer.model_name,
        "choices": choices,
    }


def _end(answer: TimedAnswer) -> bytes:
    end = b""
    if answer.usage:
        usage: dict[str, object] = {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.tokens,
            "total_tokens": answer.prompt_tokens + answer.tokens,
        }
        if answer.cached_tokens is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": answer.cached_tokens}
        end += _event({**_object(answer, []), "usage": usage})
    return end + (b"data: [DONE]\n\n" if answer.done else b"")


def _event(data: Mapping[str, object]) -> bytes:
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


def _http_chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
