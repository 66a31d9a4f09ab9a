"""An HTTP server that answers with exactly the bytes of a script: what a client must survive, byte by byte.

It knows nothing of what it serves. A part of a script is bytes to be written at once, or a function to be awaited
before the next part (to move a clock, to wait for somebody).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Part = bytes | Callable[[], Awaitable[None]]
Script = Callable[["Received"], Sequence[Part]]

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Received:
    """One request as it arrived; `body` is its JSON."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]


@dataclass
class ScriptedServer:
    """Where it listens and what it has received."""

    script: Script
    url: str = ""
    received: list[Received] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request; closes it when the script ends."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await self._read(reader)
            self.received.append(request)
            for part in self.script(request):
                if isinstance(part, bytes):
                    writer.write(part)
                    await writer.drain()
                else:
                    await part()
        writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        return Received(len(self.received), first.split()[1], headers, json.loads(raw) if raw else {})


@contextlib.asynccontextmanager
async def serving(script: Script) -> AsyncIterator[ScriptedServer]:
    """The server in the running event loop, at a port of 127.0.0.1 that the kernel chose."""
    scripted = ScriptedServer(script)
    server = await asyncio.start_server(scripted.answer, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield scripted
    finally:
        server.close()


@contextlib.contextmanager
def serving_in_thread(script: Script) -> Iterator[ScriptedServer]:
    """The server in a thread with an event loop of its own, for clients that are not asynchronous."""
    ready, stop = threading.Event(), threading.Event()
    held: list[ScriptedServer] = []

    async def serve() -> None:
        async with serving(script) as scripted:
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


def answer(tokens: Sequence[int], prompt_tokens: int = 5, **more: object) -> list[Part]:
    """A good answer: one chunk a token, usage, end."""
    last = len(tokens) - 1
    parts: list[Part] = [STREAM_HEAD]
    for index, token in enumerate(tokens):
        parts.append(event(chunk(f" {token}", [token], "length" if index == last else None, **more)))
    return [*parts, event(usage_chunk(prompt_tokens, len(tokens))), event("[DONE]")]
