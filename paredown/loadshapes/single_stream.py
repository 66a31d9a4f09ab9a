"""One request at a time: the next is due the moment the last has ended. Shows the speed of a single user."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Clock, LoadShape, Send
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest


async def _drive(requests: Sequence[TrafficRequest], options: Options, clock: Clock, send: Send) -> None:
    del options
    for request in requests:
        await send(request, clock.now_ns())


def _concurrency(options: Options) -> int:
    del options
    return 1


LOADSHAPE = LoadShape(
    name="single_stream",
    summary="one request at a time",
    drive=_drive,
    concurrency=_concurrency,
)
