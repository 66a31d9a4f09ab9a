"""Sends one traffic to a running engine by its load shape and collects the events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.client.clock import MonotonicClock
from paredown.client.open_loop import send_when_due
from paredown.client.streaming import open_session, send
from paredown.contracts import LoadShape
from paredown.errors import EngineError, EngineHung
from paredown.measure.running import Running
from paredown.records.events import RequestEvents
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest

# After so many in a row without an answer in time, waiting for the rest would only cost time.
TIMEOUTS_IN_A_ROW = 3
CONNECTION_FAILURES = frozenset({"refused", "disconnected", "truncated"})
DYING_S = 2.0


@dataclass(frozen=True)
class SendSettings:
    """How each request is sent. `ignore_eos` forces the wanted length."""

    ignore_eos: bool
    timeout_s: float


def drive(
    running: Running,
    load_shape: LoadShape,
    options: Options,
    requests: Sequence[TrafficRequest],
    settings: SendSettings,
) -> tuple[RequestEvents, ...]:
    """Every request's events, in the order of `requests`.

    Raises EngineDied or EngineOutOfMemory when the engine's process ended meanwhile, EngineHung after three timeouts
    in a row. Other failures are in the events.
    """
    collected: dict[str, RequestEvents] = {}
    try:
        asyncio.run(_drive(running, load_shape, options, requests, settings, collected))
    except* EngineHung as group:
        raise EngineHung(str(group.exceptions[0])) from group
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
    collected: dict[str, RequestEvents],
) -> None:
    clock = MonotonicClock()
    timeouts = 0
    async with open_session() as session:

        async def send_one(request: TrafficRequest, scheduled_ns: int) -> None:
            nonlocal timeouts
            events = await send(
                session,
                running.url,
                running.api_key,
                running.model_name,
                request,
                scheduled_ns,
                ignore_eos=settings.ignore_eos,
                clock=clock,
                timeout_s=settings.timeout_s,
            )
            collected[request.id] = events
            timeouts = timeouts + 1 if events.failure == "timeout" else 0
            if timeouts >= TIMEOUTS_IN_A_ROW:
                raise EngineHung(f"{timeouts} requests in a row were not finished within {settings.timeout_s:g} s.")

        if load_shape.due is not None:
            await send_when_due(requests, load_shape.due(requests, options), clock, send_one)
        else:
            assert load_shape.drive is not None, f"{load_shape.name} is a load of several steps; traffic splits it"
            await load_shape.drive(requests, options, clock, send_one)
