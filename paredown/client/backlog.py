"""Answers that have ended, kept unread until the load is over, so that reading them delays no stamp.

Their bytes take about as much memory as the events that they become. When more than `limit_bytes` are waiting (a long
load, or a server that says much with each token), the oldest are read while the load goes on, a few pieces between
two turns of the event loop.
"""

from __future__ import annotations

import asyncio
import collections

from paredown.client.reading import AnswerReader, Sent
from paredown.records.events import RequestEvents

LIMIT_BYTES = 256 * 1024 * 1024
# About a quarter of a millisecond of work.
PIECES_AT_ONCE = 16


class Backlog:
    """`add` what has ended; `read_all` gives the events by request id once the load is over."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._waiting: collections.deque[Sent] = collections.deque()
        self._events: dict[str, RequestEvents] = {}
        self._reading: asyncio.Task[None] | None = None
        self.waiting_bytes = 0
        self.read_early = 0

    def add(self, sent: Sent) -> None:
        self._waiting.append(sent)
        self.waiting_bytes += _bytes(sent)
        if self.waiting_bytes > self._limit_bytes and (self._reading is None or self._reading.done()):
            self._reading = asyncio.get_running_loop().create_task(self._make_room())

    async def read_all(self) -> dict[str, RequestEvents]:
        """Events by request id."""
        if self._reading is not None:
            await self._reading
        while self._waiting:
            self._keep(AnswerReader(self._waiting[0]))
        return self._events

    async def _make_room(self) -> None:
        while self._waiting and self.waiting_bytes > self._limit_bytes // 2:
            reader = AnswerReader(self._waiting[0])
            while not reader.read(PIECES_AT_ONCE):
                await asyncio.sleep(0)
            self._keep(reader)
            self.read_early += 1
            await asyncio.sleep(0)

    def _keep(self, reader: AnswerReader) -> None:
        sent = self._waiting.popleft()
        self.waiting_bytes -= _bytes(sent)
        self._events[sent.request.id] = reader.events()


def _bytes(sent: Sent) -> int:
    return sent.answer.body_bytes if sent.answer is not None else 0
