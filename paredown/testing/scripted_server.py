"""An HTTP server that answers with exactly the bytes of a script: what a client must survive, byte by byte.

It knows nothing of what it serves. A part of a script is bytes to be written at once, a function to be awaited before
the next part (to move a clock, to wait for somebody), or an end of the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field


class End(enum.Enum):
    """How the server ends a connection: in good order, or broken off."""

    CLOSE = "close"
    RESET = "reset"


Part = bytes | Callable[[], Awaitable[None]] | End
Script = Callable[["Received"], Sequence[Part]]

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Received:
    """One request as it arrived; `body` is its JSON. `connection` counts the connections that were made before."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]
    connection: int = 0


@dataclass
class ScriptedServer:
    """Where it listens and what it has received. `connections`: how many were made."""

    script: Script
    keep_alive: bool = False
    url: str = ""
    connections: int = 0
    received: list[Received] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, or with `keep_alive` any number until the script or the client ends it."""
        connection, self.connections = self.connections, self.connections + 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            going_on = True
            while going_on:
                request = await self._read(reader, connection)
                self.received.append(request)
                going_on = await self._write(writer, self.script(request)) and self.keep_alive
        writer.close()

    async def _write(self, writer: asyncio.StreamWriter, parts: Sequence[Part]) -> bool:
        """False when a part ended the connection."""
        for part in parts:
            if part is End.RESET:
                writer.transport.abort()
            if isinstance(part, End):
                return False
            if isinstance(part, bytes):
                writer.write(part)
                await writer.drain()
            else:
                await part()
        return True

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Received:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        return Received(len(self.received), first.split()[1], headers, json.loads(raw) if raw else {}, connection)


@contextlib.asynccontextmanager
async def serving(
    script: Script, *, keep_alive: bool = False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    """The server in the running event loop, at a port of 127.0.0.1 that the kernel chose."""
    scripted = ScriptedServer(script, keep_alive)
    server = await asyncio.start_server(scripted.answer, "127.0.0.1", 0, ssl=tls)
    scripted.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        server.close()


@contextlib.contextmanager
def serving_in_thread(
    script: Script, *, keep_alive: bool = False, tls: ssl.SSLContext | None = None
) -> Iterator[ScriptedServer]:
    """The server in a thread with an event loop of its own, for clients that are not asynchronous."""
    ready, stop = threading.Event(), threading.Event()
    held: list[ScriptedServer] = []

    async def serve() -> None:
        async with serving(script, keep_alive=keep_alive, tls=tls) as scripted:
            held.append(scripted)
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield held[0]
    finally:
        stop.set()
        thread.join()


def event(data: Mapping[str, object] | str) -> bytes:
    """One server-sent event; `data` is JSON or, as text, taken as it is."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def chunk(
    text: str = "", token_ids: Sequence[int] | None = None, finish_reason: str | None = None, **more: object
) -> dict[str, object]:
    """A chunk of a chat completion, as the wire has it."""
    choice: dict[str, object] = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
    if token_ids is not None:
        choice["token_ids"] = list(token_ids)
    return {"object": "chat.completion.chunk", "choices": [choice], **more}


def usage_chunk(prompt_tokens: int, completion_tokens: int, cached_tokens: int | None = None) -> dict[str, object]:
    """The last chunk of a stream with `include_usage`: no choices."""
    usage: dict[str, object] = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    if cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached_tokens}
    return {"object": "chat.completion.chunk", "choices": [], "usage": usage}


def chunked(parts: Sequence[Part], *, extension: bytes = b"", trailer: bytes = b"") -> list[Part]:
    """The same answer in chunked transfer coding, so that the connection can be kept; bytes behind the head only."""
    head, *rest = parts
    assert isinstance(head, bytes)
    coded = head.replace(b"Connection: close", b"Transfer-Encoding: chunked")
    pieces = [b"%x%s\r\n%s\r\n" % (len(p), extension, p) if isinstance(p, bytes) else p for p in rest]
    return [coded, *pieces, b"0\r\n" + trailer + b"\r\n"]


def answer(tokens: Sequence[int], prompt_tokens: int = 5, **more: object) -> list[Part]:
    """A good answer: one chunk a token, usage, end."""
    last = len(tokens) - 1
    parts: list[Part] = [STREAM_HEAD]
    for index, token in enumerate(tokens):
        parts.append(event(chunk(f" {token}", [token], "length" if index == last else None, **more)))
    return [*parts, event(usage_chunk(prompt_tokens, len(tokens))), event("[DONE]")]
