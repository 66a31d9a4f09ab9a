"""How the timed server speaks HTTP and keeps its times. As little work for each token as possible: it shares the
machine with the client that it is the clock for.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import re
import select
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from paredown.testing import timed_server_answers as answers
from paredown.testing.timed_server_answers import Frames, TimedAnswer

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
REQUEST_ID_HEADER = re.compile(rb"\r\nx-request-id:[ \t]*([\w-]+)", re.IGNORECASE)
REQUEST_ID_IN_TEXT = re.compile(rb"request=([\w-]+)")


@dataclass(slots=True)
class Stream:
    """One answer under way, and its record afterwards. The times are `time.monotonic_ns()`."""

    id: str
    received_ns: int
    planned_ns: tuple[int, ...]
    frames: Frames
    connection: Connection
    written_ns: list[int] = field(default_factory=list)


class MicrosecondSelector(selectors.EpollSelector):
    """epoll waits whole milliseconds and would make every write up to 1 ms late; select(2) on it waits microseconds."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            select.select([self.fileno()], [], [], timeout)
            timeout = 0
        return super().select(timeout)


class Timetable:
    """The next write of every stream, earliest first, behind one timer of the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: list[tuple[int, int, Stream]] = []
        self._added = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0

    def add(self, due_ns: int, stream: Stream) -> None:
        self._added += 1  # decides between writes of one moment: first come, first served
        heapq.heappush(self._due, (due_ns, self._added, stream))
        if self._timer is None or due_ns < self._timer_ns:
            self._arm(due_ns)

    def _arm(self, due_ns: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ns = due_ns
        self._timer = self._loop.call_at(due_ns / 1e9, self._write_due)

    def _write_due(self) -> None:
        due = self._due
        while due and due[0][0] <= time.monotonic_ns():
            stream = heapq.heappop(due)[2]
            following_ns = stream.connection.write_next(stream)
            if following_ns is not None:
                self._added += 1
                heapq.heappush(due, (following_ns, self._added, stream))
        self._timer = None
        if due:
            self._arm(due[0][0])


class Service:
    """What all connections share: the answer, the timetable and the record."""

    def __init__(self, answer: TimedAnswer, loop: asyncio.AbstractEventLoop) -> None:
        self.early_head = answers.HEAD if answer.early_head else b""
        self.bare = answers.frames(answer, with_token_ids=False)
        self.with_ids = answers.frames(answer, with_token_ids=True) if answer.token_ids else self.bare
        self.plan: Callable[[], tuple[int, ...]] = answers.planner(answer)
        self.timetable = Timetable(loop)
        self.streams: list[Stream] = []
        self._models = answers.models(answer)

    def page(self, path: bytes) -> bytes:
        """The answer to a GET."""
        if path == b"/health":
            return answers.plain("200 OK", {"status": "ok"})
        if path == b"/v1/models":
            return self._models
        if path == b"/stamps":
            return answers.plain("200 OK", {"cpu_s": time.process_time(), "requests": self._records()})
        return answers.plain("404 Not Found", {"error": {"message": f"no such path: {path.decode('latin-1')}"}})

    def _records(self) -> list[dict[str, object]]:
        return [
            {
                "id": stream.id,
                "received_ns": stream.received_ns,
                "planned_ns": [stream.received_ns + after for after in stream.planned_ns],
                "written_ns": stream.written_ns,
                "tokens_from": stream.frames.tokens_from,
            }
            for stream in self.streams
        ]


class Connection(asyncio.Protocol):
    """One kept-alive connection: requests one after another, each answered before the next."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self._answering = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  the base class's signature
        self._transport = None

    def data_received(self, data: bytes) -> None:
        now_ns = time.monotonic_ns()
        received = self._received + data if self._received else data
        while received and self._transport is not None and not self._answering:
            head_end = received.find(b"\r\n\r\n")
            if head_end < 0:
                break
            length = CONTENT_LENGTH.search(received, 0, head_end)
            end = head_end + 4 + (int(length[1]) if length else 0)
            if len(received) < end:
                break
            self._answer(received[:head_end], received[head_end + 4 : end], now_ns)
            received = received[end:]
        self._received = received

    def _answer(self, head: bytes, body: bytes, now_ns: int) -> None:
        assert self._transport is not None
        service = self._service
        method, path = head.split(b" ", 2)[:2]
        if method == b"GET":
            self._transport.write(service.page(path))
        elif path != b"/v1/chat/completions" or not _wants_stream(body):
            message = "this server streams chat completions (`stream`: true, with a Content-Length) and nothing else"
            self._transport.write(answers.plain("400 Bad Request", {"error": {"message": message}}))
        else:
            frames = service.with_ids if b'"return_token_ids"' in body else service.bare
            stream = Stream(_request_id(head, body, len(service.streams)), now_ns, service.plan(), frames, self)
            service.streams.append(stream)
            self._answering = True
            if service.early_head:
                self._transport.write(service.early_head)
            service.timetable.add(now_ns + stream.planned_ns[0], stream)

    def write_next(self, stream: Stream) -> int | None:
        """Write what is due; gives when the next is, None at the end or when the client has gone."""
        transport, written_ns = self._transport, stream.written_ns
        if transport is None:
            return None
        index = len(written_ns)
        written_ns.append(time.monotonic_ns())
        transport.write(stream.frames.writes[index])
        if index + 1 < len(stream.planned_ns):
            return stream.received_ns + stream.planned_ns[index + 1]
        self._answering = False
        if self._received:
            self.data_received(b"")
        return None


def _wants_stream(body: bytes) -> bool:
    if b'"stream":true' in body or b'"stream": true' in body:
        return True
    try:
        return json.loads(body).get("stream") is True
    except (ValueError, AttributeError):
        return False


def _request_id(head: bytes, body: bytes, number: int) -> str:
    """What the client calls it: `request=ID` in its prompt, else the header X-Request-ID, else its number here."""
    found = REQUEST_ID_IN_TEXT.search(body) or REQUEST_ID_HEADER.search(head)
    return found[1].decode() if found else f"#{number}"
