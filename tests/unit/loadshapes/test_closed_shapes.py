"""When requests are sent, by a clock that is moved by hand."""

from __future__ import annotations

import asyncio

import pytest

from paredown import registry
from paredown.errors import UserError
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest
from paredown.testing.hand_clock import HandClock

REQUESTS = tuple(TrafficRequest(f"r{i}", (), 1) for i in range(5))


async def drive(shape: str, options: Options, durations: dict[str, int]) -> dict[str, tuple[int, int]]:
    """(due, ended) of each request, when request r takes `durations[r]` ns on a server that is never the limit."""
    clock = HandClock()
    seen: dict[str, tuple[int, int]] = {}

    async def send(request: TrafficRequest, due_ns: int) -> None:
        await clock.sleep_until_ns(clock.time_ns + durations[request.id])
        seen[request.id] = (due_ns, clock.time_ns)

    task = asyncio.create_task(registry.load_shape(shape).drive(REQUESTS, options, clock, send))
    while not task.done():
        for _ in range(20):
            await asyncio.sleep(0)
        clock.advance(1)
    await task
    return seen


async def test_single_stream_sends_the_next_when_the_last_has_ended() -> None:
    seen = await drive("single_stream", {}, dict.fromkeys(("r0", "r1", "r2", "r3", "r4"), 10))

    assert [seen[r.id] for r in REQUESTS] == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)]


async def test_closed_loop_fills_each_slot_the_moment_it_is_free() -> None:
    seen = await drive("closed_loop", {"concurrency": 2}, {"r0": 30, "r1": 10, "r2": 5, "r3": 40, "r4": 1})

    assert [seen[r.id] for r in REQUESTS] == [(0, 30), (0, 10), (10, 15), (15, 55), (30, 31)]


async def test_closed_loop_with_more_slots_than_requests_sends_all_at_once() -> None:
    seen = await drive("closed_loop", {"concurrency": 99}, dict.fromkeys(("r0", "r1", "r2", "r3", "r4"), 3))

    assert set(seen.values()) == {(0, 3)}


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "many", True, None])
def test_a_concurrency_that_is_no_count_is_refused(wrong: object) -> None:
    with pytest.raises(UserError, match="concurrency"):
        registry.load_shape("closed_loop").concurrency({"concurrency": wrong})  # type: ignore[dict-item]


def test_declared_concurrency() -> None:
    assert registry.load_shape("single_stream").concurrency({}) == 1
    assert registry.load_shape("closed_loop").concurrency({}) == 16
