from __future__ import annotations

import asyncio

from paredown.client.open_loop import send_when_due
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.hand_clock import HandClock

REQUESTS = [TrafficRequest(f"r{i}", (Message("user", "x"),), 1) for i in range(3)]


async def test_requests_leave_when_due_though_none_has_been_answered() -> None:
    clock = HandClock(now_ns=5_000)
    left: list[tuple[str, int, int]] = []
    answered = asyncio.Event()

    async def send(request: TrafficRequest, due_ns: int) -> None:
        left.append((request.id, due_ns, clock.time_ns))
        await answered.wait()

    load = asyncio.create_task(send_when_due(REQUESTS, [0.0, 0.5, 0.5], clock, send))
    await turns()
    assert [name for name, _, _ in left] == ["r0"]

    clock.advance(500_000_000)
    await turns()
    assert left == [("r0", 5_000, 5_000), ("r1", 500_005_000, 500_005_000), ("r2", 500_005_000, 500_005_000)]
    assert not load.done()

    answered.set()
    await load


async def test_a_clock_that_jumps_does_not_move_the_time_at_which_a_request_was_due() -> None:
    clock = HandClock()
    due: list[int] = []

    async def send(request: TrafficRequest, due_ns: int) -> None:
        due.append(due_ns)

    load = asyncio.create_task(send_when_due(REQUESTS, [0.0, 1.0, 2.0], clock, send))
    await turns()
    clock.advance(60_000_000_000)
    await load

    assert due == [0, 1_000_000_000, 2_000_000_000]


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
