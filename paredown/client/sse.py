"""Server-sent events, incrementally (WHATWG HTML, section 9.2), as far as OpenAI-compatible servers use them.

Works on bytes and hands out whole events only, so a UTF-8 character or a line that is split between two network
reads needs no care anywhere else.
"""

from __future__ import annotations

LARGEST_EVENT_BYTES = 8 * 1024 * 1024


class EventTooLargeError(ValueError):
    """An event without an end: the stream is not what it says it is."""


class EventParser:
    """`feed` takes bytes as they arrive and gives the data of each event that became complete.

    Lines may end in LF, CRLF or CR; `data:` may come with or without a space; comments and other fields are skipped.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[bytes] = []
        self._after_carriage_return = False

    def feed(self, received: bytes) -> list[bytes]:
        if self._after_carriage_return or b"\r" in received:
            received = self._with_line_feeds(received)
        if self._buffer:
            received = self._buffer + received
        *lines, self._buffer = received.split(b"\n")
        if len(self._buffer) > LARGEST_EVENT_BYTES:
            raise EventTooLargeError(f"A line of more than {LARGEST_EVENT_BYTES} bytes.")
        return self._events(lines)

    def finish(self) -> list[bytes]:
        """The event that was left without its closing blank line when the stream ended, if there is one."""
        rest, self._buffer = self._buffer, b""
        return self._events([rest, b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        complete = []
        for line in lines:
            if not line:
                if self._data:
                    complete.append(b"\n".join(self._data))
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line == b"data":
                self._data.append(b"")
        return complete

    def _with_line_feeds(self, received: bytes) -> bytes:
        if self._after_carriage_return and received.startswith(b"\n"):
            received = received[1:]
        self._after_carriage_return = received.endswith(b"\r") if received else self._after_carriage_return
        return received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
