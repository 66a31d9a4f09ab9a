"""One connection to a server: writes a request, and stamps every piece of the answer the moment it arrives.

HTTP framing is h11's. What a piece means is not looked at here: it is read later (`reading`), so that the work on one
answer does not delay the stamp of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import h11

LARGEST_HEAD_BYTES = 64 * 1024
LARGEST_ANSWER_BYTES = 256 * 1024 * 1024
# How long a server may leave the body open after [DONE] before the answer is taken as it is.
DRAIN_S = 0.2
_DONE_ENDS = (b"data: [DONE]", b"data:[DONE]")
_TAIL_BYTES = 24


@dataclass
class Answer:
    """What came back for one request, unread.

    pieces:  (time of arrival in ns, bytes of the body)
    ended:   set when no more will come; then `failure` is empty when the body has an end, else
             `disconnected`, `malformed` (not HTTP, or without measure), `timeout` or `stalled`
    sent_ns: when the request was handed to the socket; last_ns: when the last bytes came
    """

    ended: asyncio.Future[None]
    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    status: int | None = None
    reason: str = ""
    content_type: str = ""
    retry_after: str = ""
    body_bytes: int = 0
    sent_ns: int = 0
    last_ns: int | None = None
    failure: str = ""
    detail: str = ""


class Connection(asyncio.BufferedProtocol):
    """One request at a time. `is_ready`: open, and the last answer was read to its end.

    buffer: where bytes are received, which the connections of one event loop may share: a plain protocol is given
            new bytes, for which the event loop allocates 256 KiB each time (12 µs of the 14 that receiving takes)
    """

    def __init__(
        self, now_ns: Callable[[], int], buffer: memoryview, on_closed: Callable[[Connection], None] | None = None
    ) -> None:
        self._now_ns, self._buffer, self._on_closed = now_ns, buffer, on_closed
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD_BYTES)
        self._answer: Answer | None = None
        self._tail = b""
        self._drain: asyncio.TimerHandle | None = None
        self._open = False
        self.requests = 0
        self.idle_since_ns = 0

    @property
    def is_ready(self) -> bool:
        return self._open and self._answer is None and not self._transport.is_closing()

    @property
    def peer_host(self) -> str:
        """IP address of the other end; empty when it is not known."""
        peer = self._transport.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    def ask(self, request: h11.Request, body: bytes) -> Answer:
        """Write the request; the answer fills up as it arrives."""
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        message = b"".join(self._http.send(event) or b"" for event in events)
        self._answer = answer = Answer(asyncio.get_running_loop().create_future())
        self._tail = b""
        self.requests += 1
        answer.sent_ns = self._now_ns()
        self._transport.write(message)
        return answer

    def give_up(self, failure: str, detail: str) -> None:
        """End the answer that is under way; the connection cannot be used again."""
        self._end(failure, detail)

    def close(self) -> None:
        if self._open:
            self._transport.abort()

    # ── called by the event loop ──

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        now_ns = self._now_ns()
        answer = self._answer
        if answer is None:
            # Nobody asked: whatever it is, the next answer would be misread.
            self.close()
            return
        answer.last_ns = now_ns
        if self._drain is not None:
            self._drain.cancel()
            self._drain = None
        self._receive(answer, bytes(self._buffer[:nbytes]), now_ns)
        if self._answer is answer and self._tail.rstrip().endswith(_DONE_ENDS):
            self._drain = asyncio.get_running_loop().call_later(DRAIN_S, self._end, "", "")

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        answer = self._answer
        if answer is not None and answer.status is not None and error is None:
            self._receive(answer, b"", self._now_ns())
        if self._answer is not None:
            how = f"{type(error).__name__}: {error}" if error else "The server closed the connection without an answer."
            self._end("disconnected", how)
        if self._on_closed is not None:
            self._on_closed(self)

    # ── framing ──

    def _receive(self, answer: Answer, data: bytes, now_ns: int) -> None:
        """Take in bytes (empty: the server closed its side)."""
        try:
            self._http.receive_data(data)
            while self._answer is answer:
                event = self._http.next_event()
                if isinstance(event, h11.Data):
                    self._keep(answer, bytes(event.data), now_ns)
                elif isinstance(event, h11.Response):
                    _take_head(answer, event)
                elif isinstance(event, h11.EndOfMessage):
                    self._end("", "")
                elif not isinstance(event, h11.InformationalResponse):
                    return
        except h11.RemoteProtocolError as error:
            self._end("disconnected" if not data else "malformed", f"Not HTTP as it should be: {error}")

    def _keep(self, answer: Answer, piece: bytes, now_ns: int) -> None:
        answer.pieces.append((now_ns, piece))
        answer.body_bytes += len(piece)
        self._tail = piece[-_TAIL_BYTES:] if len(piece) >= _TAIL_BYTES else (self._tail + piece)[-_TAIL_BYTES:]
        if answer.body_bytes > LARGEST_ANSWER_BYTES:
            self._end("malformed", f"An answer of more than {LARGEST_ANSWER_BYTES} bytes.")

    def _end(self, failure: str, detail: str) -> None:
        answer = self._answer
        if answer is None:
            return
        self._answer = None
        if self._drain is not None:
            self._drain.cancel()
            self._drain = None
        answer.failure, answer.detail = failure, detail
        if not answer.ended.done():
            answer.ended.set_result(None)
        self._ready_for_the_next()

    def _ready_for_the_next(self) -> None:
        self.idle_since_ns = self._now_ns()
        both_done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if both_done and not self._http.trailing_data[0]:
            self._http.start_next_cycle()
        else:
            self.close()


def _take_head(answer: Answer, response: h11.Response) -> None:
    answer.status = response.status_code
    answer.reason = response.reason.decode("latin-1")
    for name, value in response.headers:
        if name == b"content-type":
            answer.content_type = value.decode("latin-1").partition(";")[0].strip().lower()
        elif name == b"retry-after":
            answer.retry_after = value.decode("latin-1")
