"""Sends requests to an OpenAI-compatible streaming server and keeps the raw events.

A failure of the server or of the line is a recorded result of that request, in a class of its own:

    refused        no connection could be made
    status_NNN     the server answered with that HTTP status
    error_object   an error object in place of a chunk
    malformed      not an event stream, not JSON, or not the shape of a chunk
    truncated      the stream ended without a finish reason
    no_tokens      it finished and carried no token
    timeout        not finished in time
    disconnected   the connection broke
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import aiohttp

from paredown.client.clock import MonotonicClock
from paredown.client.sse import EventParser, EventTooLargeError
from paredown.client.stream_state import StreamState, error_text, read_event
from paredown.contracts import Clock
from paredown.records.events import RequestEvents
from paredown.records.traffic import TrafficRequest

CHAT_PATH = "/v1/chat/completions"
CONNECT_TIMEOUT_S = 10.0
# Shorter than the 5 s after which common servers drop an idle connection: else a send can meet a closed one.
KEEP_ALIVE_S = 2.0
DRAIN_TIMEOUT_S = 0.2


def open_session() -> aiohttp.ClientSession:
    """A session for `send`: unlimited connections, no time limit of its own, no proxy from the environment."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
        trust_env=False,
    )


async def send(
    session: aiohttp.ClientSession,
    url: str,
    key: str,
    model: str,
    request: TrafficRequest,
    scheduled_ns: int,
    *,
    ignore_eos: bool,
    clock: Clock,
    timeout_s: float,
) -> RequestEvents:
    """Send one request and keep its events. Never raises for what the server or the line did.

    url: base of the server, without `/v1`; key: bearer token, empty for none; scheduled_ns: when it was due
    """
    body = request_body(model, request, ignore_eos=ignore_eos)
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    state = StreamState()
    sent_ns = clock.now_ns()
    try:
        async with (
            asyncio.timeout(timeout_s),
            session.post(url.rstrip("/") + CHAT_PATH, data=body, headers=headers, allow_redirects=False) as response,
        ):
            await _read_response(state, response, clock)
    except (aiohttp.ClientConnectorError, aiohttp.InvalidURL, aiohttp.ServerTimeoutError) as error:
        state.fail("refused", f"{type(error).__name__}: {error}")
    except TimeoutError:
        state.fail("timeout", f"Not finished within {timeout_s:g} s.")
    except (aiohttp.ClientError, ConnectionError, OSError) as error:
        state.fail("disconnected", f"{type(error).__name__}: {error}")
    return _events(state, request, scheduled_ns, sent_ns, clock.now_ns())


def request_body(model: str, request: TrafficRequest, *, ignore_eos: bool) -> bytes:
    """The JSON body: greedy, streamed, with usage and token ids where the server can give them."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "max_tokens": request.output_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }
    if ignore_eos:
        body["ignore_eos"] = True
    return json.dumps(body, ensure_ascii=False).encode()


def complete(
    url: str,
    key: str,
    model: str,
    requests: Sequence[TrafficRequest],
    *,
    concurrency: int,
    ignore_eos: bool,
    timeout_s: float,
    on_done: Callable[[RequestEvents], None] | None = None,
) -> tuple[RequestEvents, ...]:
    """Send all requests, `concurrency` at a time, and wait; results in the order of `requests`.

    on_done is called in this thread as each one ends. Must not be called inside a running event loop.
    """
    if concurrency < 1:
        raise ValueError("concurrency must be at least 1")
    clock = MonotonicClock()
    results: dict[int, RequestEvents] = {}

    async def worker(session: aiohttp.ClientSession, waiting: Iterator[tuple[int, TrafficRequest]]) -> None:
        for index, request in waiting:
            events = await send(
                session,
                url,
                key,
                model,
                request,
                clock.now_ns(),
                ignore_eos=ignore_eos,
                clock=clock,
                timeout_s=timeout_s,
            )
            results[index] = events
            if on_done is not None:
                on_done(events)

    async def run() -> None:
        waiting = iter(enumerate(requests))
        async with open_session() as session, asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(requests))):
                group.create_task(worker(session, waiting))

    asyncio.run(run())
    return tuple(results[index] for index in range(len(requests)))


async def _read_response(state: StreamState, response: aiohttp.ClientResponse, clock: Clock) -> None:
    if response.status != 200:
        state.fail(f"status_{response.status}", await _body_text(response) or f"{response.reason}, without a body")
        return
    if response.content_type != "text/event-stream":
        await _read_whole_body(state, response)
        return
    parser = EventParser()
    async for received in response.content.iter_any():
        arrived_ns = clock.now_ns()
        try:
            events = parser.feed(received)
        except EventTooLargeError as error:
            state.fail("malformed", str(error))
            return
        for data in events:
            read_event(state, data, arrived_ns)
        if state.failure:
            return
        if state.done:
            await _drain(response)
            return
    arrived_ns = clock.now_ns()
    for data in parser.finish():
        read_event(state, data, arrived_ns)
        if state.failure == "malformed":
            state.failure = "truncated"


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read the end of the body, so that the connection can be used again; the answer itself is complete."""
    with contextlib.suppress(TimeoutError, aiohttp.ClientError, ConnectionError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            async for _ in response.content.iter_any():
                pass


async def _body_text(response: aiohttp.ClientResponse) -> str:
    raw = await response.read()
    try:
        return error_text(json.loads(raw)) or raw[:300].decode(errors="replace")
    except ValueError:
        return raw[:300].decode(errors="replace")


async def _read_whole_body(state: StreamState, response: aiohttp.ClientResponse) -> None:
    raw = await response.read()
    try:
        message = error_text(json.loads(raw))
    except ValueError:
        message = ""
    if message:
        state.fail("error_object", message)
    else:
        state.fail("malformed", f"Answered {response.content_type!r} and not an event stream: {raw[:200]!r}")


def _events(
    state: StreamState, request: TrafficRequest, scheduled_ns: int, sent_ns: int, ended_ns: int
) -> RequestEvents:
    chunks = state.token_chunks()
    if not state.finish_reason:
        state.fail("truncated", f"The stream ended {'with' if state.done else 'without'} [DONE] and no finish reason.")
    if not chunks:
        state.fail("no_tokens", "The stream finished and carried no token.")
    return RequestEvents(
        id=request.id,
        scheduled_ns=scheduled_ns,
        sent_ns=sent_ns,
        chunks=chunks,
        finished_ns=None if state.failure else ended_ns,
        prompt_tokens=state.usage_prompt_tokens,
        output_tokens=state.output_tokens(),
        wanted_tokens=request.output_tokens,
        finish_reason=state.finish_reason,
        failure=state.failure,
        detail=state.detail,
        text="".join(state.text),
        cached_tokens=state.cached_tokens,
    )
