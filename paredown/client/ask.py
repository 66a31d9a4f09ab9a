"""One question to a server, with its whole answer: for what is asked before a measurement, not during one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import h11

from paredown.client import event_loop
from paredown.client.clock import MonotonicClock
from paredown.client.connection import Answer
from paredown.client.pool import ConnectError, Pool
from paredown.client.reading import server_words
from paredown.client.server import Server, head
from paredown.errors import UserError


@dataclass(frozen=True)
class Reply:
    """status: None when no answer came, and `failure` says why; words: what the server says went wrong;
    retry_after: its header of that name
    """

    status: int | None
    content: bytes
    failure: str = ""
    words: str = ""
    retry_after: str = ""

    def value(self) -> object:
        """The body as JSON. Raises ValueError when it is none."""
        found: object = json.loads(self.content)
        return found


def get(server: Server, path: str, timeout_s: float) -> Reply:
    """`path` comes behind the base of the server. Must not be called inside a running event loop."""
    return event_loop.run(_ask(server, head(server, "GET", path), b"", timeout_s))


def post_json(server: Server, path: str, body: object, timeout_s: float) -> Reply:
    """As `get`, with a JSON body."""
    raw = json.dumps(body, ensure_ascii=False).encode()
    return event_loop.run(_ask(server, head(server, "POST", path, len(raw)), raw, timeout_s))


def no_answer(server: Server, failure: str, words: str) -> UserError:
    """What to say when no HTTP answer came."""
    if failure == "bad_certificate":
        return UserError(
            f"The certificate of {server.url} is not trusted: {words}. Name the PEM file of the authority that signed "
            "it with --ca-file; it cannot be left unchecked."
        )
    return UserError(f"{server.url} did not answer ({failure}: {words}). Is the server running, and is this its URL?")


async def _ask(server: Server, request: h11.Request, body: bytes, timeout_s: float) -> Reply:
    async with Pool(server, MonotonicClock.now_ns) as pool:
        try:
            connection = await pool.open()
        except ConnectError as error:
            return Reply(None, b"", error.failure, error.detail)
        answer: Answer = connection.ask(request, body)
        try:
            async with asyncio.timeout(timeout_s):
                await answer.ended
        except TimeoutError:
            return Reply(None, b"", "timeout", f"Not answered within {timeout_s:g} s.")
        content = b"".join(piece for _, piece in answer.pieces)
        if answer.status is None or answer.failure:
            return Reply(None, content, answer.failure, answer.detail)
        return Reply(answer.status, content, words=server_words(answer), retry_after=answer.retry_after)
