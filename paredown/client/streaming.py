"""Sends requests to an OpenAI-compatible streaming server and keeps the raw events.

What can go wrong, and how each failure is called, is in `reading`. `exchange` only stamps; `send` reads at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paredown.client import event_loop, retries
from paredown.client.clock import MonotonicClock
from paredown.client.connection import Answer, Connection
from paredown.client.pool import ConnectError, Pool
from paredown.client.reading import Sent, read
from paredown.client.request_body import request_body
from paredown.client.server import CHAT_PATH, Server, head
from paredown.contracts import Clock
from paredown.records.dialect import Dialect
from paredown.records.events import RequestEvents
from paredown.records.traffic import TrafficRequest

# A server that closed a kept connection while the request was on its way shows within a round trip.
STALE_S = 0.5


@dataclass(frozen=True)
class SendSettings:
    """How each request is sent.

    ignore_eos: force the wanted length
    timeout_s:  from the first sending to the end of the answer, pauses between tries included
    retries:    tries after the first one, for `refused`, 429 and 5xx; latency stays anchored to the time it was due
    stall_s:    longest silence of an answer that has begun; None = only `timeout_s` counts
    """

    ignore_eos: bool
    timeout_s: float
    retries: int = 0
    stall_s: float | None = None


@dataclass(frozen=True)
class Session:
    """Open connections to a server, and the clock that stamps."""

    server: Server
    pool: Pool
    clock: Clock


@contextlib.asynccontextmanager
async def open_session(server: Server, clock: Clock | None = None) -> AsyncIterator[Session]:
    """A session for `send`: as many connections as there are requests in flight, no proxy from the environment.

    Raises UserError for a URL, a key or a file of authorities that cannot be used.
    """
    clock = clock or MonotonicClock()
    head(server, "GET", "/")
    async with Pool(server, clock.now_ns) as pool:
        yield Session(server, pool, clock)


async def send(session: Session, request: TrafficRequest, scheduled_ns: int, settings: SendSettings) -> RequestEvents:
    """Send one request and keep its events. Never raises for what the server or the line did.

    scheduled_ns: when it was due
    """
    return read(await exchange(session, request, scheduled_ns, settings))


async def exchange(session: Session, request: TrafficRequest, scheduled_ns: int, settings: SendSettings) -> Sent:
    """Send one request and wait for its end; what came back is stamped and unread."""
    body = request_body(session.server.model, request, session.server.dialect, ignore_eos=settings.ignore_eos)
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + settings.timeout_s
    unsent = Sent(request, scheduled_ns, session.clock.now_ns(), None)
    first_ns: int | None = None
    while True:
        sent = await _attempt(session, unsent, body, settings, deadline_s)
        first_ns = sent.sent_ns if first_ns is None else first_ns
        pause_s = retries.pause_s(sent) if sent.attempts <= settings.retries else None
        if pause_s is None or loop.time() + pause_s >= deadline_s:
            return replace(sent, sent_ns=first_ns)
        await session.clock.sleep_until_ns(session.clock.now_ns() + round(pause_s * 1e9))
        unsent = replace(unsent, attempts=sent.attempts + 1)


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
    ca_file: Path | None = None,
    dialect: Dialect = Dialect(),
) -> tuple[RequestEvents, ...]:
    """Send all requests, `concurrency` at a time, and wait; results in the order of `requests`.

    on_done is called in this thread as each one ends. Must not be called inside a running event loop.
    """
    if concurrency < 1:
        raise ValueError("concurrency must be at least 1")
    settings = SendSettings(ignore_eos, timeout_s)
    results: dict[int, RequestEvents] = {}

    async def worker(session: Session, waiting: Iterator[tuple[int, TrafficRequest]]) -> None:
        for index, request in waiting:
            events = await send(session, request, session.clock.now_ns(), settings)
            results[index] = events
            if on_done is not None:
                on_done(events)

    async def run() -> None:
        waiting = iter(enumerate(requests))
        server = Server(url, key, model, ca_file, dialect)
        async with open_session(server) as session, asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(requests))):
                group.create_task(worker(session, waiting))

    event_loop.run(run())
    return tuple(results[index] for index in range(len(requests)))


async def _attempt(session: Session, unsent: Sent, body: bytes, settings: SendSettings, deadline_s: float) -> Sent:
    connection = session.pool.idle()
    while True:
        if connection is None:
            try:
                async with asyncio.timeout_at(deadline_s):
                    connection = await session.pool.open()
            except ConnectError as error:
                return replace(unsent, failure=error.failure, detail=error.detail)
            except TimeoutError:
                return replace(unsent, failure="timeout", detail="No connection was made in time.")
        answer = await _ask(session, connection, body, settings, deadline_s)
        if connection.requests == 1 or not _met_a_closed_connection(answer, session.clock.now_ns()):
            return replace(unsent, sent_ns=answer.sent_ns, answer=answer)
        # Nobody has seen this request: a kept connection was closed before it got there.
        connection = None


def _met_a_closed_connection(answer: Answer, now_ns: int) -> bool:
    nothing_came = answer.failure == "disconnected" and answer.last_ns is None
    return nothing_came and now_ns - answer.sent_ns < STALE_S * 1e9


async def _ask(
    session: Session, connection: Connection, body: bytes, settings: SendSettings, deadline_s: float
) -> Answer:
    loop = asyncio.get_running_loop()
    answer = connection.ask(head(session.server, "POST", CHAT_PATH, len(body)), body)
    late = f"Not finished within {settings.timeout_s:g} s."
    timers = [loop.call_at(deadline_s, connection.give_up, "timeout", late)]
    if settings.stall_s is not None:
        _watch(session.clock, connection, answer, settings.stall_s, timers)
    try:
        await answer.ended
    finally:
        for timer in timers:
            timer.cancel()
        # Only where this task was cancelled is there anything left to end.
        connection.give_up("disconnected", "Given up.")
    session.pool.give(connection)
    return answer


def _watch(
    clock: Clock, connection: Connection, answer: Answer, stall_s: float, timers: list[asyncio.TimerHandle]
) -> None:
    """Look again whenever an answer could have been silent for `stall_s`; the last timer of the list is its own."""
    silent_s = 0.0 if answer.last_ns is None else (clock.now_ns() - answer.last_ns) / 1e9
    if silent_s >= stall_s:
        connection.give_up("stalled", f"Nothing came for {silent_s:.1f} s after the answer had begun.")
        return
    loop = asyncio.get_running_loop()
    timers[1:] = [loop.call_later(stall_s - silent_s, _watch, clock, connection, answer, stall_s, timers)]
