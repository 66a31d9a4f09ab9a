"""Load shapes: when requests are sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from paredown.contracts.needs import Option
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest


class Clock(Protocol):
    """Time under the caller's control. `now_ns` is monotonic."""

    def now_ns(self) -> int: ...
    async def sleep_until_ns(self, due_ns: int) -> None: ...


Send = Callable[[TrafficRequest, int], Awaitable[None]]
"""Send one request that was due at the given time (ns); returns when it has finished or failed."""


@dataclass(frozen=True)
class LoadStep:
    """One step of a load that has several: which shape with which options, and how it is called in a report."""

    label: str
    load_shape: str
    options: Options


@dataclass(frozen=True)
class LoadShape:
    """Decides when requests are sent. Exactly one of `drive`, `due` and `steps` is given.

    concurrency: requests in flight at most, from the options (None = unbounded, open loop); raises UserError for
                 options that make no load
    drive: closed loop: sends, and returns when every request it sent has finished
    due:   open loop: seconds after the start at which each request is due, ascending, one for each request (the
           schedule is kept however slow the server is)
    steps: several loads one after the other, each with its own share of the requests and figures of its own
    """

    name: str
    summary: str
    concurrency: Callable[[Options], int | None]
    drive: Callable[[Sequence[TrafficRequest], Options, Clock, Send], Awaitable[None]] | None = None
    due: Callable[[Sequence[TrafficRequest], Options], Sequence[float]] | None = None
    steps: Callable[[Options], Sequence[LoadStep]] | None = None
    options: tuple[Option, ...] = ()
