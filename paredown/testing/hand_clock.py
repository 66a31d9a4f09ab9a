"""A clock that is moved by hand and tells when it has been read."""

from __future__ import annotations

import asyncio


class HandClock:
    """`advance` moves it; sleepers wake when their time has come. `until_read` waits for the next reading."""

    def __init__(self, now_ns: int = 0) -> None:
        self.time_ns = now_ns
        self.readings = 0
        self._changed = asyncio.Event()

    def now_ns(self) -> int:
        self.readings += 1
        self._wake()
        return self.time_ns

    async def sleep_until_ns(self, due_ns: int) -> None:
        while self.time_ns < due_ns:
            await self._changed.wait()

    def advance(self, by_ns: int) -> None:
        self.time_ns += by_ns
        self._wake()

    async def until_read(self, readings: int) -> None:
        """Returns when the clock has been read `readings` times in all."""
        while self.readings < readings:
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
