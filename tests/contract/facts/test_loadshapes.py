"""What every load shape does, whoever wrote it."""

from __future__ import annotations

import asyncio
import itertools
import math

import pytest

from paredown import registry
from paredown.client.open_loop import send_when_due
from paredown.contracts import LoadShape, Options, Send
from paredown.records.traffic import TrafficRequest
from paredown.testing.hand_clock import HandClock

REQUESTS = tuple(TrafficRequest(f"r{i}", (), 1, at_s=i / 10) for i in range(7))
TICK_NS = 20_000_000


@pytest.fixture(params=registry.names("loadshapes"))
def shape(request: pytest.FixtureRequest) -> LoadShape:
    return registry.load_shape(request.param)


def defaults(shape: LoadShape) -> Options:
    return {option.name: option.default for option in shape.options}


def parts(shape: LoadShape) -> list[tuple[LoadShape, Options]]:
    """The shape with its default options, or the shapes of its steps with theirs."""
    if shape.steps is None:
        return [(shape, defaults(shape))]
    return [(registry.load_shape(step.load_shape), step.options) for step in shape.steps(defaults(shape))]


async def run(
    shape: LoadShape, options: Options, requests: tuple[TrafficRequest, ...], clock: HandClock, send: Send
) -> None:
    if shape.due is not None:
        sending = send_when_due(requests, shape.due(requests, options), clock, send)
    else:
        assert shape.drive is not None
        sending = shape.drive(requests, options, clock, send)
    task = asyncio.ensure_future(sending)
    while not task.done():
        for _ in range(20):
            await asyncio.sleep(0)
        clock.advance(TICK_NS)
    await task


def test_it_is_a_closed_loop_or_an_open_one_or_several_steps(shape: LoadShape) -> None:
    assert sum(part is not None for part in (shape.drive, shape.due, shape.steps)) == 1


async def test_it_sends_every_request_once_and_returns_when_all_have_ended(shape: LoadShape) -> None:
    for part, options in parts(shape):
        clock = HandClock()
        sent: list[str] = []
        ended: list[str] = []
        most = 0

        async def send(request: TrafficRequest, due_ns: int) -> None:
            nonlocal most
            assert due_ns <= clock.time_ns  # noqa: B023  each part is run to its end before the next
            sent.append(request.id)  # noqa: B023
            most = max(most, len(sent) - len(ended))  # noqa: B023
            await clock.sleep_until_ns(clock.time_ns + 3 * TICK_NS)  # noqa: B023
            ended.append(request.id)  # noqa: B023

        await run(part, options, REQUESTS, clock, send)

        limit = part.concurrency(options)
        assert sorted(sent) == sorted(ended) == [request.id for request in REQUESTS]
        assert limit is None or most <= limit


async def test_it_ends_at_once_without_requests(shape: LoadShape) -> None:
    sent: list[str] = []

    async def send(request: TrafficRequest, due_ns: int) -> None:
        sent.append(request.id)
        raise AssertionError("nothing was to be sent")

    for part, options in parts(shape):
        await run(part, options, (), HandClock(), send)

    assert sent == []


def test_a_schedule_has_one_ascending_time_for_each_request_and_is_the_same_every_time(shape: LoadShape) -> None:
    for part, options in parts(shape):
        if part.due is None:
            continue
        due = part.due(REQUESTS, options)

        assert len(due) == len(REQUESTS)
        assert all(math.isfinite(time) and time >= 0 for time in due)
        assert all(before <= after for before, after in itertools.pairwise(due))
        assert due == part.due(REQUESTS, options)


def test_another_seed_gives_other_times(shape: LoadShape) -> None:
    for part, options in parts(shape):
        if part.due is not None and any(option.name == "seed" for option in part.options):
            assert part.due(REQUESTS, options) != part.due(REQUESTS, {**options, "seed": 99})


def test_an_open_loop_has_no_limit_and_a_closed_one_has(shape: LoadShape) -> None:
    limit = shape.concurrency(defaults(shape))

    assert (limit is not None) == (shape.drive is not None)


def test_steps_have_labels_of_their_own_and_shapes_that_know_their_options(shape: LoadShape) -> None:
    steps = shape.steps(defaults(shape)) if shape.steps is not None else ()

    assert len({step.label for step in steps}) == len(steps)
    for step in steps:
        part = registry.load_shape(step.load_shape)
        assert part.steps is None
        assert set(step.options) <= {option.name for option in part.options}
        part.concurrency(step.options)


def test_it_says_what_it_is(shape: LoadShape) -> None:
    assert shape.summary
    assert all(option.help for option in shape.options)
