"""OpenAI-shaped answers as bytes: chunks of a stream from parts built once, whole answers, errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from paredown.hosts.failures import Failure

DONE = b"data: [DONE]\n\n"
END_OF_BODY = b"0\r\n\r\n"


def stream_head(*, close: bool) -> bytes:
    end = "Connection: close\r\n" if close else ""
    return (
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
        f"Transfer-Encoding: chunked\r\n{end}\r\n"
    ).encode()


class ChunkMaker:
    """Chunks of one stream. Everything that does not change from token to token is made once."""

    def __init__(
        self, request_id: str, created_s: int, model: str, *, chat: bool, prompt_tokens: int, with_ids: bool
    ) -> None:
        kind = "chat.completion.chunk" if chat else "text_completion"
        head = f'{{"id":{quoted(request_id)},"object":"{kind}","created":{created_s},"model":{quoted(model)},'
        text = '"delta":{"content":' if chat else '"text":'
        self._before_text = f'data: {head}"choices":[{{"index":0,{text}'
        self._after_text = "}" if chat else ""
        self._prompt_tokens, self._with_ids = prompt_tokens, with_ids

    def chunk(self, text: str, ids: Sequence[int], engine_ns: int) -> bytes:
        return self._framed(
            self._start(text, ids) + f'"finish_reason":null}}],"paredown":{{"engine_ns":{engine_ns}}}}}\n\n'
        )

    def last(self, text: str, ids: Sequence[int], engine_ns: int, finish_reason: str, completion_tokens: int) -> bytes:
        usage = json.dumps(usage_of(self._prompt_tokens, completion_tokens), separators=(",", ":"))
        end = f'"finish_reason":"{finish_reason}"}}],"usage":{usage},"paredown":{{"engine_ns":{engine_ns}}}}}\n\n'
        return self._framed(self._start(text, ids) + end + DONE.decode()) + END_OF_BODY

    def _start(self, text: str, ids: Sequence[int]) -> str:
        listed = f'"token_ids":[{",".join(map(str, ids))}],' if self._with_ids else ""
        return f"{self._before_text}{quoted(text)}{self._after_text},{listed}"

    @staticmethod
    def _framed(payload: str) -> bytes:
        data = payload.encode()
        return b"%x\r\n%b\r\n" % (len(data), data)


def usage_of(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def error_body(failure: Failure) -> dict[str, Any]:
    if failure.kind == "request":
        return _error(failure.message, "invalid_request_error", "invalid_request")
    return _error(failure.message, "server_error", "out_of_memory" if failure.kind == "memory" else "engine_failed")


def refusal(message: str, kind: str, code: str) -> dict[str, Any]:
    return _error(message, kind, code)


def _error(message: str, kind: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code}}


def error_chunk(failure: Failure) -> bytes:
    """The end of a stream that failed: no `[DONE]` follows."""
    data = b"data: " + json.dumps(error_body(failure)).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data) + END_OF_BODY


def response(status: int, body: Mapping[str, Any], *, close: bool = False) -> bytes:
    """A whole HTTP/1.1 response with a JSON body."""
    data = json.dumps(body, separators=(",", ":")).encode()
    end = "Connection: close\r\n" if close else ""
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n{end}\r\n"
    )
    return head.encode() + data
