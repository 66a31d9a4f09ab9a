"""HTTP/1.1 requests out of a growing buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LONGEST_HEAD_BYTES = 64 << 10
LONGEST_BODY_BYTES = 64 << 20


class HttpError(Exception):
    """Answered with this status, then the connection is closed: where the next request starts is not known."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class HttpRequest:
    """One request; names of `headers` in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def keeps_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


@dataclass(frozen=True)
class Head:
    method: str
    path: str
    headers: Mapping[str, str]
    length: int
    body_length: int


def parse_head(buffer: bytearray) -> Head | None:
    """The head at the start of the buffer, None while it is not whole. Raises HttpError."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        if len(buffer) > LONGEST_HEAD_BYTES:
            raise HttpError(431, "The head of the request is too long.")
        return None
    first, *rest = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise HttpError(400, "This is no HTTP/1.1 request.")
    headers = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon:
            raise HttpError(400, "A header line has no colon.")
        headers[name.strip().lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise HttpError(411, "Send the body with Content-Length.")
    return Head(words[0], words[1].partition("?")[0], headers, end + 4, _body_length(headers))


def _body_length(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "0")
    if not text.isdecimal():
        raise HttpError(400, "Content-Length is no number.")
    if int(text) > LONGEST_BODY_BYTES:
        raise HttpError(413, f"The body is longer than {LONGEST_BODY_BYTES >> 20} MiB.")
    return int(text)


def take_request(buffer: bytearray, head: Head) -> HttpRequest | None:
    """Cut the whole request off the buffer; None while its body is not whole."""
    end = head.length + head.body_length
    if len(buffer) < end:
        return None
    body = bytes(buffer[head.length : end])
    del buffer[:end]
    return HttpRequest(head.method, head.path, head.headers, body)
