"""OpenAI-compatible HTTP of a host: asyncio, no framework, tokens straight from the engine thread to the socket."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from paredown.contracts import GenerationRequest, StepOutput
from paredown.errors import UserError
from paredown.hosts import openai_answers as answers
from paredown.hosts import openai_requests as asks
from paredown.hosts.failures import Failure
from paredown.hosts.http_request import (
    LONGEST_BODY_BYTES,
    LONGEST_HEAD_BYTES,
    Head,
    HttpError,
    HttpRequest,
    parse_head,
    take_request,
)
from paredown.hosts.openai_requests import Ask
from paredown.hosts.outlet import Outlet, Socket
from paredown.hosts.scheduler import Job, Scheduler
from paredown.hosts.tokenizer import LoadedTokenizer

log = logging.getLogger(__name__)

PATHS = {
    "/health": "GET",
    "/v1/models": "GET",
    "/v1/chat/completions": "POST",
    "/v1/completions": "POST",
    "/tokenize": "POST",
}


@dataclass(frozen=True)
class Service:
    """What every connection of a server shares."""

    scheduler: Scheduler
    tokens: LoadedTokenizer
    model_name: str
    api_key: str
    created_s: int


async def listen(service: Service, host: str, port: int) -> asyncio.Server:
    """Start serving; port 0 = the kernel chooses."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(service, loop), host, port)


class Connection(asyncio.Protocol):
    """One client's connection; one request at a time, kept alive between them."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop) -> None:
        self._service, self._loop = service, loop
        self._buffer = bytearray()
        self._head: Head | None = None
        self._answering: str = ""  # id of the generation that is being answered
        self._keep_alive = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._socket = Socket(transport.get_extra_info("socket").fileno())

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  the protocol's interface
        if self._answering:
            self._service.scheduler.cancel(self._answering)
        self._socket.close()

    def eof_received(self) -> bool:
        return False  # a client that has gone: closes the transport, and so cancels

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > LONGEST_HEAD_BYTES + LONGEST_BODY_BYTES:
            self._transport.close()  # it goes on sending while its first request is answered
        self._read_requests()

    def _read_requests(self) -> None:
        while not self._answering and not self._transport.is_closing():
            try:
                request = self._next_request()
            except HttpError as error:
                self._refuse(error.status, str(error), close=True)
                return
            if request is None:
                return
            self._keep_alive = request.keeps_alive
            self._answer(request)

    def _next_request(self) -> HttpRequest | None:
        if self._head is None:
            self._head = parse_head(self._buffer)
            if self._head is None:
                return None
            if self._head.headers.get("expect", "").lower() == "100-continue":
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request = take_request(self._buffer, self._head)
        if request is not None:
            self._head = None
        return request

    def _answer(self, request: HttpRequest) -> None:
        expected = PATHS.get(request.path)
        if expected is None:
            self._refuse(404, f"There is no {request.path} here. There is: {', '.join(PATHS)}.")
        elif request.method != expected:
            self._refuse(405, f"{request.path} takes {expected}.")
        elif request.path != "/health" and not self._key_is_right(request):
            self._refuse(401, "Send the header `Authorization: Bearer KEY` with the key of this server.")
        else:
            try:
                self._dispatch(request)
            except UserError as error:
                self._refuse(400, str(error))
            except Exception:
                log.exception("Answering %s failed.", request.path)
                self._refuse(500, "The server failed on this request; its log says why.")

    def _key_is_right(self, request: HttpRequest) -> bool:
        given = request.headers.get("authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {self._service.api_key}".encode())

    def _dispatch(self, request: HttpRequest) -> None:
        service = self._service
        if request.path == "/health":
            self._respond(200, {"status": "ok"})
        elif request.path == "/v1/models":
            model = {"id": service.model_name, "object": "model", "created": service.created_s, "owned_by": "paredown"}
            self._respond(200, {"object": "list", "data": [model]})
        elif request.path == "/tokenize":
            ids = asks.parse_tokenize(asks.parse_body(request.body), service.tokens)
            limit = service.tokens.context_length
            self._respond(200, {"tokens": ids, "count": len(ids), "max_model_len": limit})
        else:
            chat = request.path == "/v1/chat/completions"
            ask = asks.parse_ask(asks.parse_body(request.body), service.tokens, service.model_name, chat=chat)
            self._generate(ask)

    def _generate(self, ask: Ask) -> None:
        service = self._service
        request_id = ("chatcmpl-" if ask.chat else "cmpl-") + secrets.token_hex(12)
        request = GenerationRequest(
            id=request_id,
            prompt_ids=ask.prompt_ids,
            max_tokens=ask.max_tokens,
            ignore_eos=ask.ignore_eos,
            stop_ids=() if ask.ignore_eos else service.tokens.stop_ids,
        )
        self._answering = request_id
        reply: _Stream | _Whole
        if ask.stream:
            head = answers.stream_head(close=not self._keep_alive)
            outlet = Outlet(self._socket, self._transport, self._loop)
            reply = _Stream(ask, request_id, service, head, outlet, self._finish_soon, self._fail_soon)
        else:
            reply = _Whole(ask, request_id, service, self._respond_soon, self._fail_soon)
        service.scheduler.submit(Job(request, reply.on_output, reply.on_failure))

    # ── called in the engine thread ──

    def _finish_soon(self) -> None:
        self._loop.call_soon_threadsafe(self._finished)

    def _respond_soon(self, body: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._respond_and_finish, 200, body)

    def _fail_soon(self, failure: Failure) -> None:
        status = 400 if failure.kind == "request" else 500
        self._loop.call_soon_threadsafe(self._respond_and_finish, status, answers.error_body(failure))

    # ── in the event loop ──

    def _respond_and_finish(self, status: int, body: Mapping[str, Any]) -> None:
        self._respond(status, body)
        self._finished()

    def _finished(self) -> None:
        self._answering = ""
        if not self._keep_alive:
            self._transport.close()
        self._read_requests()

    def _respond(self, status: int, body: Mapping[str, Any], *, close: bool = False) -> None:
        close = close or not self._keep_alive
        self._transport.write(answers.response(status, body, close=close))
        if close:
            self._transport.close()

    def _refuse(self, status: int, message: str, *, close: bool = False) -> None:
        kind = {401: "authentication_error", 500: "server_error"}.get(status, "invalid_request_error")
        self._respond(status, answers.refusal(message, kind, f"http_{status}"), close=close)


class _Stream:
    """Server-sent events of one generation; lives in the engine thread."""

    def __init__(
        self,
        ask: Ask,
        request_id: str,
        service: Service,
        head: bytes,
        outlet: Outlet,
        on_finished: Callable[[], None],
        on_failed: Callable[[Failure], None],
    ) -> None:
        self._outlet, self._on_finished, self._on_failed = outlet, on_finished, on_failed
        self._text = service.tokens.tokenizer.incremental()
        self._head, self._count = head, 0
        self._chunks = answers.ChunkMaker(
            request_id,
            int(time.time()),
            service.model_name,
            chat=ask.chat,
            prompt_tokens=len(ask.prompt_ids),
            with_ids=ask.return_token_ids,
        )

    def on_output(self, output: StepOutput, at_ns: int) -> None:
        ids = output.token_ids
        self._count += len(ids)
        text = self._text.add(ids)
        if not output.finish_reason:
            self._write(self._chunks.chunk(text, ids, at_ns))
            return
        text += self._text.finish()
        self._write(self._chunks.last(text, ids, at_ns, output.finish_reason, self._count))
        self._on_finished()

    def on_failure(self, failure: Failure) -> None:
        if self._head:
            self._on_failed(failure)
            return
        self._write(answers.error_chunk(failure))
        self._on_finished()

    def _write(self, chunk: bytes) -> None:
        self._outlet.write(self._head + chunk)
        self._head = b""


class _Whole:
    """One answer in one piece; gathers in the engine thread."""

    def __init__(
        self,
        ask: Ask,
        request_id: str,
        service: Service,
        on_whole: Callable[[Mapping[str, Any]], None],
        on_failed: Callable[[Failure], None],
    ) -> None:
        self._ask, self._id, self._service = ask, request_id, service
        self._on_whole, self.on_failure = on_whole, on_failed
        self._ids: list[int] = []

    def on_output(self, output: StepOutput, at_ns: int) -> None:
        self._ids.extend(output.token_ids)
        if output.finish_reason:
            self._on_whole(self._body(output.finish_reason, at_ns))

    def _body(self, finish_reason: str, at_ns: int) -> Mapping[str, Any]:
        ask, text = self._ask, self._service.tokens.tokenizer.decode(self._ids)
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish_reason}
        choice |= {"message": {"role": "assistant", "content": text}} if ask.chat else {"text": text}
        if ask.return_token_ids:
            choice["token_ids"] = self._ids
        return {
            "id": self._id,
            "object": "chat.completion" if ask.chat else "text_completion",
            "created": int(time.time()),
            "model": self._service.model_name,
            "choices": [choice],
            "usage": answers.usage_of(len(ask.prompt_ids), len(self._ids)),
            "paredown": {"engine_ns": at_ns},
        }
