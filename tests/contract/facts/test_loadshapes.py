"""What every load shape does, whoever wrote it."""

from __future__ import annotations

import asyncio

import pytest

from paredown import registry
from paredown.contracts import LoadShape
from paredown.records.traffic import TrafficRequest
from paredown.testing.hand_clock import HandClock

REQUESTS = tuple(TrafficRequest(f"r{i}", (), 1) for i in range(7))


@pytest.fixture(params=registry.names("loadshapes"))
def shape(request: pytest.FixtureRequest) -> LoadShape:
    return registry.load_shape(request.param)


async def test_it_sends_every_request_once_and_returns_when_all_have_ended(shape: LoadShape) -> None:
    clock, sent, ended, in_flight, most = HandClock(), [], [], 0, 0

    async def send(request: TrafficRequest, due_ns: int) -> None:
        nonlocal in_flight, most
        assert due_ns <= clock.time_ns
        sent.append(request.id)
        in_flight += 1
        most = max(most, in_flight)
        await clock.sleep_until_ns(clock.time_ns + 3)
        in_flight -= 1
        ended.append(request.id)

    options = {option.name: option.default for option in shape.options}
    task = asyncio.create_task(shape.drive(REQUESTS, options, clock, send))
    while not task.done():
        for _ in range(20):
            await asyncio.sleep(0)
        clock.advance(1)
    await task

    limit = shape.concurrency(options)
    assert sorted(sent) == sorted(ended) == [request.id for request in REQUESTS]
    assert limit is None or most <= limit


async def test_it_ends_at_once_without_requests(shape: LoadShape) -> None:
    async def send(request: TrafficRequest, due_ns: int) -> None:
        raise AssertionError("nothing was to be sent")

    await shape.drive((), {option.name: option.default for option in shape.options}, HandClock(), send)


def test_it_says_what_it_is(shape: LoadShape) -> None:
    assert shape.summary
    assert all(option.help for option in shape.options)
