"""One traffic against a running engine: what is sent, what is counted, and when the engine is given up."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from paredown import registry
from paredown.client import pool
from paredown.client.connection import Connection
from paredown.contracts import Clock, LoadShape, Send
from paredown.errors import EngineHung
from paredown.measure.load import SendSettings, drive
from paredown.records.dialect import Dialect
from paredown.records.events import RequestEvents, StartUp
from paredown.records.figure import Options
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.scripted_server import (
    STREAM_HEAD,
    End,
    Part,
    Received,
    Script,
    answer,
    chunk,
    chunked,
    event,
    serving_in_thread,
)

OPEN = LoadShape("at_once", "", lambda _: None, due=lambda requests, _: [0.001 * i for i in range(len(requests))])
CLOSED = registry.load_shape("closed_loop")
SETTINGS = SendSettings(ignore_eos=True, timeout_s=20.0)
OURS = StartUp(loaded_ns=1, ready_ns=2)


class FakeRunning:
    """`startup` is None for somebody else's server."""

    def __init__(self, url: str, startup: StartUp | None = OURS, dialect: Dialect = Dialect()) -> None:
        self.url, self.api_key, self.model_name = url, "k", "m"
        self.ca_file: Path | None = None
        self.startup, self.dialect, self.started_ns = startup, dialect, 0

    def process_ids(self) -> tuple[int, ...]:
        return ()

    def host_info(self) -> None:
        return None

    def raise_if_ended(self) -> None:
        return None


def requests(count: int) -> list[TrafficRequest]:
    return [TrafficRequest(f"r{i}", (Message("user", f"number {i}"),), 2) for i in range(count)]


def number(received: Received) -> int:
    found = re.search(r"number (\d+)", json.dumps(received.body["messages"]))
    assert found is not None
    return int(found[1])


def load(
    script: Script,
    count: int,
    shape: LoadShape = OPEN,
    options: Options | None = None,
    settings: SendSettings = SETTINGS,
    startup: StartUp | None = OURS,
    dialect: Dialect = Dialect(),
) -> tuple[RequestEvents, ...]:
    with serving_in_thread(script, keep_alive=True) as server:
        return drive(FakeRunning(server.url, startup, dialect), shape, options or {}, requests(count), settings)


async def for_ever() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("shape", [OPEN, CLOSED])
def test_events_come_in_the_order_of_the_requests(shape: LoadShape) -> None:
    events = load(lambda received: chunked(answer([number(received), 7])), 20, shape, {"concurrency": 3})

    assert [e.id for e in events] == [f"r{i}" for i in range(20)]
    assert [e.chunks[0].token_ids for e in events] == [(i,) for i in range(20)]


FAULTS: Sequence[tuple[str, Sequence[Part]]] = (
    ("", chunked(answer([1, 2]))),
    ("malformed", chunked([STREAM_HEAD, b"data: {oops\n\n"])),
    ("disconnected", [*chunked(answer([1, 2]))[:2], End.RESET]),
    ("status_429", [b"HTTP/1.1 429 X\r\nContent-Length: 2\r\n\r\nno"]),
    ("status_500", [b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"]),
    ("truncated", chunked([STREAM_HEAD, event(chunk("a", [1])), event("[DONE]")])),
    ("no_tokens", chunked([STREAM_HEAD, event(chunk("", None, "stop")), event("[DONE]")])),
    ("error_object", chunked([STREAM_HEAD, event({"error": {"message": "boom"}}), event("[DONE]")])),
    ("stalled", [*chunked(answer([1, 2]))[:2], for_ever]),
)


@pytest.mark.parametrize("shape", [OPEN, CLOSED])
def test_a_server_that_does_everything_wrong_is_counted_and_ends_no_run(shape: LoadShape) -> None:
    rounds = 3
    events = load(
        lambda received: FAULTS[number(received) % len(FAULTS)][1],
        rounds * len(FAULTS),
        shape,
        {"concurrency": 4},
        SendSettings(ignore_eos=True, timeout_s=20.0, stall_s=0.3),
    )

    assert Counter(e.failure for e in events) == {failure: rounds for failure, _ in FAULTS}
    assert all((e.finished_ns is None) == bool(e.failure) for e in events)


HANGING = SendSettings(ignore_eos=True, timeout_s=0.1)


def test_in_a_closed_loop_an_engine_of_ours_that_hangs_is_given_up() -> None:
    with pytest.raises(EngineHung, match="3 requests in a row"):
        load(lambda _: [for_ever], 50, CLOSED, {"concurrency": 2}, HANGING)


def test_in_an_open_loop_a_timeout_is_a_failure_like_others() -> None:
    events = load(lambda _: [for_ever], 8, OPEN, {}, HANGING)

    assert [e.failure for e in events] == ["timeout"] * 8


def test_somebody_elses_server_is_not_given_up() -> None:
    events = load(lambda _: [for_ever], 8, CLOSED, {"concurrency": 4}, HANGING, startup=None)

    assert [e.failure for e in events] == ["timeout"] * 8


def test_an_open_loop_does_not_wait_for_answers() -> None:
    """The server answers nobody before all ten have asked."""
    arrived: list[int] = []
    all_here = asyncio.Event()

    async def all_have_asked() -> None:
        if len(arrived) == 10:
            all_here.set()
        await all_here.wait()

    def script(received: Received) -> Sequence[Part]:
        arrived.append(number(received))
        return [all_have_asked, *chunked(answer([1, 2]))]

    assert [e.failure for e in load(script, 10)] == [""] * 10


def test_connections_of_a_closed_loop_are_made_before_the_first_request() -> None:
    with serving_in_thread(lambda _: chunked(answer([1, 2])), keep_alive=True) as server:

        async def send_once_connected(
            given: Sequence[TrafficRequest], _options: Options, clock: Clock, send: Send
        ) -> None:
            async with asyncio.timeout(20):
                while server.connections < 5:
                    await clock.sleep_until_ns(clock.now_ns() + 1_000_000)
            for request in given:
                await send(request, clock.now_ns())

        shape = LoadShape("five", "", lambda _: 5, drive=send_once_connected)
        drive(FakeRunning(server.url), shape, {}, requests(7), SETTINGS)

        assert server.connections == 5


def test_in_a_closed_loop_a_server_that_closes_each_connection_does_not_make_the_client_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect = pool.Pool.open

    async def slowly(self: pool.Pool) -> Connection:
        await asyncio.sleep(0.2)
        return await connect(self)

    monkeypatch.setattr(pool.Pool, "open", slowly)
    with serving_in_thread(lambda _: answer([1, 2])) as server:
        events = drive(FakeRunning(server.url), CLOSED, {"concurrency": 1}, requests(3), SETTINGS)

        assert server.connections == 3
    assert all(e.sent_ns - e.scheduled_ns < 0.2e9 for e in events)


def test_the_dialect_of_the_server_is_spoken() -> None:
    bodies: list[set[str]] = []

    def script(received: Received) -> Sequence[Part]:
        bodies.append(set(received.body))
        return chunked(answer([1, 2]))

    load(script, 1, dialect=Dialect(ignore_eos=False, return_token_ids=False))

    assert bodies == [{"model", "messages", "max_tokens", "temperature", "stream", "stream_options"}]
