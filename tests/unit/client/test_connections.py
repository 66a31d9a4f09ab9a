"""Which connection a request goes over, and what it costs when there is none."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from paredown.client import pool
from paredown.client.server import Server
from paredown.client.streaming import STALE_S, SendSettings, open_session, send
from paredown.errors import UserError
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.hand_clock import HandClock
from paredown.testing.scripted_server import (
    End,
    Part,
    Received,
    answer,
    chunked,
    serving,
)

REQUEST = TrafficRequest("r", (Message("user", "hello"),), 2)
SETTINGS = SendSettings(ignore_eos=True, timeout_s=20.0)
GOOD = answer([1, 2])


async def two_in_a_row(script: Callable[[Received], Sequence[Part]]) -> tuple[list[RequestEvents], list[int]]:
    """Events of two requests, and which connection each one that arrived came over."""
    async with serving(script, keep_alive=True) as server, open_session(Server(server.url, "", "m")) as session:
        events = [await send(session, replace(REQUEST, id=str(i)), 0, SETTINGS) for i in range(2)]
        return events, [received.connection for received in server.received]


async def test_a_connection_is_used_again() -> None:
    events, connections = await two_in_a_row(lambda _: chunked(GOOD))

    assert [e.failure for e in events] == ["", ""]
    assert connections == [0, 0]


async def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    events, connections = await two_in_a_row(lambda _: [*GOOD, End.CLOSE])

    assert [e.failure for e in events] == ["", ""]
    assert connections == [0, 1]


@pytest.mark.parametrize("end", End)
async def test_a_kept_connection_that_is_closed_when_the_request_comes_costs_a_fresh_one_and_no_failure(
    end: End,
) -> None:
    events, connections = await two_in_a_row(lambda received: [end] if received.number == 1 else chunked(GOOD))

    assert [e.failure for e in events] == ["", ""]
    assert connections == [0, 0, 1]
    assert events[1].attempts == 1


async def test_a_server_that_always_drops_the_request_is_a_failure_after_one_fresh_connection() -> None:
    events, connections = await two_in_a_row(lambda received: [End.RESET] if received.number else chunked(GOOD))

    assert [e.failure for e in events] == ["", "disconnected"]
    assert connections == [0, 0, 1]


async def test_a_kept_connection_that_breaks_after_a_while_has_lost_the_request() -> None:
    """It was there and worked on it: to send it again would hide a failure."""
    clock = HandClock(1_000)

    async def works_a_while() -> None:
        clock.advance(int(1.1 * STALE_S * 1e9))

    def script(received: Received) -> Sequence[Part]:
        return [works_a_while, End.RESET] if received.number else chunked(GOOD)

    async with serving(script, keep_alive=True) as server, open_session(Server(server.url, "", "m"), clock) as session:
        events = [await send(session, REQUEST, 0, SETTINGS) for _ in range(2)]

    assert [e.failure for e in events] == ["", "disconnected"]
    assert len(server.received) == 2


@pytest.mark.parametrize(("idle_s", "connections"), [(pool.IDLE_S - 1, 1), (pool.IDLE_S + 1, 2)])
async def test_a_connection_that_was_idle_for_long_is_not_trusted(idle_s: float, connections: int) -> None:
    clock = HandClock(1_000)
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True) as server,
        open_session(Server(server.url, "", "m"), clock) as session,
    ):
        await send(session, REQUEST, 0, SETTINGS)
        clock.advance(int(idle_s * 1e9))
        await send(session, REQUEST, 0, SETTINGS)

        assert server.connections == connections


async def test_bytes_behind_the_end_of_an_answer_are_not_taken_for_the_next_one() -> None:
    raw = b"".join(part for part in chunked(GOOD) if isinstance(part, bytes))
    smuggled = chunked(answer([7, 8]))[0]
    assert isinstance(smuggled, bytes)
    events, connections = await two_in_a_row(lambda _: [raw + smuggled])

    assert [[c.token_ids for c in e.chunks] for e in events] == [[(1,), (2,)]] * 2
    assert connections == [0, 1]


async def test_connections_are_made_before_they_are_needed() -> None:
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        await session.pool.prepare(40)
        await asyncio.gather(*(send(session, replace(REQUEST, id=str(i)), 0, SETTINGS) for i in range(40)))

        assert server.connections == 40
        assert {received.connection for received in server.received} == set(range(40))


async def test_where_making_a_connection_takes_long_a_few_are_kept_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SPARE_ABOVE_S", 0.0)
    monkeypatch.setattr(pool, "is_this_machine", lambda address: address != "127.0.0.1")
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        await session.pool.prepare(1)
        await asyncio.gather(*(send(session, replace(REQUEST, id=str(i)), 0, SETTINGS) for i in range(3)))

        assert pool.SPARE <= server.connections <= 3 + pool.SPARE


async def test_on_one_machine_no_connection_stays_idle_that_nobody_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SPARE_ABOVE_S", 0.0)
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        for _ in range(3):
            await send(session, REQUEST, 0, SETTINGS)

        assert server.connections == 1


async def test_a_client_that_may_open_no_more_files_does_not_blame_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_more(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async with open_session(Server("http://127.0.0.1:1", "", "m")) as session:
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", no_more)
        with pytest.raises(UserError, match="ulimit"):
            await send(session, REQUEST, 0, SETTINGS)
