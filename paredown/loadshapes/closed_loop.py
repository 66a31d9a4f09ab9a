"""A fixed number of users, each of whom sends the next request the moment the last one has ended.

A closed loop slows down with the server, so it shows throughput and not what a queue would do to latency.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from paredown.contracts import Clock, LoadShape, Option, Send
from paredown.errors import UserError
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest

_CONCURRENCY = Option(name="concurrency", default=16, help="requests in flight, at least 1")


async def _drive(requests: Sequence[TrafficRequest], options: Options, clock: Clock, send: Send) -> None:
    waiting = iter(requests)

    async def user(requests_left: Iterator[TrafficRequest]) -> None:
        for request in requests_left:
            await send(request, clock.now_ns())

    async with asyncio.TaskGroup() as group:
        for _ in range(min(_concurrency(options), len(requests))):
            group.create_task(user(waiting))


def _concurrency(options: Options) -> int:
    value = options.get(_CONCURRENCY.name, _CONCURRENCY.default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"The load shape closed_loop has concurrency {value!r}; give a whole number from 1 on.")
    return value


LOADSHAPE = LoadShape(
    name="closed_loop",
    summary="a fixed number of requests in flight",
    drive=_drive,
    concurrency=_concurrency,
    options=(_CONCURRENCY,),
)
