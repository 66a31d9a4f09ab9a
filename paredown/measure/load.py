"""Sends one traffic to a running engine by its load shape and collects the events."""

from __future__ import annotations

import time
from collections.abc import Sequence

from paredown.client import event_loop
from paredown.client.backlog import Backlog
from paredown.client.open_loop import send_when_due
from paredown.client.server import Server
from paredown.client.streaming import SendSettings, Session, exchange, open_session
from paredown.contracts import LoadShape, Send
from paredown.errors import EngineError, EngineHung
from paredown.measure.running import Running
from paredown.records.events import RequestEvents
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest

__all__ = ["SendSettings", "drive", "raise_if_all_failed"]

# After so many in a row without an answer in time, waiting for the rest would only cost time.
TIMEOUTS_IN_A_ROW = 3
CONNECTION_FAILURES = frozenset({"refused", "disconnected", "truncated"})
DYING_S = 2.0


def drive(
    running: Running,
    load_shape: LoadShape,
    options: Options,
    requests: Sequence[TrafficRequest],
    settings: SendSettings,
) -> tuple[RequestEvents, ...]:
    """Every request's events, in the order of `requests`.

    Answers are stamped as they arrive and read when the load is over. Raises EngineDied or EngineOutOfMemory when the
    engine's process ended meanwhile; EngineHung after three timeouts in a row in a closed loop on an engine of ours.
    In an open loop an overloaded server is what is being looked for, and somebody else's server is not ours to give
    up: there a timeout is a failure of that request. Other failures are in the events. Raises UserError when this
    process may not open so many connections.
    """
    with event_loop.without_long_pauses():
        collected = event_loop.run(_drive(running, load_shape, options, requests, settings))
    if collected and list(collected.values())[-1].failure in CONNECTION_FAILURES:
        _raise_if_ending(running)
    return tuple(collected[request.id] for request in requests)


def _raise_if_ending(running: Running) -> None:
    """A process that dies closes its connections a moment before it can be seen to have ended."""
    end = time.monotonic() + DYING_S
    while time.monotonic() < end:
        running.raise_if_ended()
        time.sleep(DYING_S / 50)


def raise_if_all_failed(events: Sequence[RequestEvents], doing: str) -> None:
    """Raises EngineError with the server's own words when not one request went well."""
    if events and all(request.failure for request in events):
        first = events[0]
        raise EngineError(f"The engine answered no request while {doing}: {first.failure}.", first.detail)


async def _drive(
    running: Running,
    load_shape: LoadShape,
    options: Options,
    requests: Sequence[TrafficRequest],
    settings: SendSettings,
) -> dict[str, RequestEvents]:
    server = Server(running.url, running.api_key, running.model_name, running.ca_file, running.dialect)
    backlog = Backlog()
    timeouts = started = 0
    closed = load_shape.due is None

    async with open_session(server) as session:

        async def send_one(request: TrafficRequest, scheduled_ns: int) -> None:
            nonlocal timeouts, started
            started += 1
            sent = await exchange(session, request, scheduled_ns, settings)
            backlog.add(sent)
            timed_out = sent.failure == "timeout" or (sent.answer is not None and sent.answer.failure == "timeout")
            timeouts = timeouts + 1 if timed_out else 0
            if closed and running.startup is not None and timeouts >= TIMEOUTS_IN_A_ROW:
                raise EngineHung(f"{timeouts} requests in a row were not finished within {settings.timeout_s:g} s.")
            if closed and started < len(requests):
                # The next request is due when this one returns: a server that closed the connection is no late client.
                await session.pool.prepare(1)

        await _send_all(session, load_shape, options, requests, send_one)
    return await backlog.read_all()


async def _send_all(
    session: Session, load_shape: LoadShape, options: Options, requests: Sequence[TrafficRequest], send: Send
) -> None:
    """Connections are made before the first request is due, as many as a closed loop will need."""
    await session.pool.prepare(min(load_shape.concurrency(options) or 1, len(requests)))
    if load_shape.due is not None:
        await send_when_due(requests, load_shape.due(requests, options), session.clock, send)
    else:
        assert load_shape.drive is not None, f"{load_shape.name} is a load of several steps; traffic splits it"
        await load_shape.drive(requests, options, session.clock, send)
