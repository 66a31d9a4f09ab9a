"""An open loop: requests leave when they are due, however slow the server is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from paredown.contracts import Clock, Send
from paredown.records.traffic import TrafficRequest


async def send_when_due(requests: Sequence[TrafficRequest], due_s: Sequence[float], clock: Clock, send: Send) -> None:
    """Send each request at its time after now (seconds, ascending); returns when all of them have ended.

    `send` gets the time at which the request was due, so that waiting counts (no coordinated omission).
    """
    start_ns = clock.now_ns()
    async with asyncio.TaskGroup() as group:
        for request, after_s in zip(requests, due_s, strict=True):
            due_ns = start_ns + round(after_s * 1e9)
            await clock.sleep_until_ns(due_ns)
            group.create_task(_sent(send, request, due_ns))


async def _sent(send: Send, request: TrafficRequest, due_ns: int) -> None:
    await send(request, due_ns)
