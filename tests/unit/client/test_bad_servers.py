"""What real servers do wrong, over real sockets: each has a class of its own, and none of it ends a run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from paredown.client import connection
from paredown.client.server import Server
from paredown.client.streaming import SendSettings, open_session, send
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.scripted_server import (
    STREAM_HEAD,
    End,
    Part,
    answer,
    chunk,
    chunked,
    event,
    serving,
)

REQUEST = TrafficRequest("r", (Message("user", "hello"),), 2)
SETTINGS = SendSettings(ignore_eos=True, timeout_s=20.0)
GOOD = answer([1, 2])


async def ask(parts: Sequence[Part], settings: SendSettings = SETTINGS, *, keep_alive: bool = True) -> RequestEvents:
    """One request to a server that keeps its connections unless the script ends them."""
    async with (
        serving(lambda _: parts, keep_alive=keep_alive) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        return await send(session, REQUEST, 0, settings)


async def for_ever() -> None:
    await asyncio.Event().wait()


# ── HTTP as servers speak it ──


def with_length(parts: Sequence[Part]) -> list[Part]:
    body = b"".join(part for part in parts[1:] if isinstance(part, bytes))
    return [STREAM_HEAD.replace(b"Connection: close", b"Content-Length: %d" % len(body)), body]


ODD_BUT_GOOD: dict[str, Sequence[Part]] = {
    "chunked": chunked(GOOD),
    "chunked with extensions": chunked(GOOD, extension=b';name="a;b"'),
    "chunked with a trailer": chunked(GOOD, trailer=b"X-Checksum: 1\r\n"),
    "a body of known length": with_length(GOOD),
    "an interim answer first": [
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: y\r\n\r\n",
        *chunked(GOOD),
    ],
    "header fields in odd case": [
        part.replace(b"Content-Type: text", b"cOnTeNt-tYpE:TEXT").replace(
            b"Transfer-Encoding: c", b"TRANSFER-ENCODING: C"
        )
        if isinstance(part, bytes)
        else part
        for part in chunked(GOOD)
    ],
    "every byte by itself": [bytes([byte]) for part in chunked(GOOD) if isinstance(part, bytes) for byte in part],
    "everything at once": [b"".join(part for part in chunked(GOOD) if isinstance(part, bytes))],
    "comments between the events": chunked([GOOD[0], b": still here\n\n", *GOOD[1:]]),
}


@pytest.mark.parametrize("name", ODD_BUT_GOOD)
async def test_what_http_allows_is_a_good_answer(name: str) -> None:
    events = await ask(ODD_BUT_GOOD[name])

    assert (events.failure, events.detail) == ("", "")
    assert [c.token_ids for c in events.chunks] == [(1,), (2,)]
    assert (events.output_tokens, events.text) == (2, " 1 2")


async def test_an_event_of_a_megabyte_is_read() -> None:
    text = "x" * 1_000_000
    events = await ask(chunked([STREAM_HEAD, event(chunk(text, [1], "stop")), event("[DONE]")]))

    assert (events.failure, len(events.text)) == ("", 1_000_000)


async def test_a_character_cut_between_two_chunks_is_whole() -> None:
    raw = event(chunk("é", [1], "stop")).replace(b"\\u00e9", "é".encode())
    cut = raw.index("é".encode()) + 1

    assert (await ask(chunked([STREAM_HEAD, raw[:cut], raw[cut:], event("[DONE]")]))).text == "é"


async def test_a_body_that_stays_open_after_done_is_taken_as_it_is() -> None:
    """The end of the answer is when [DONE] came, not when the wait for the end of the body was over."""
    events = await ask([*chunked(GOOD)[:-1], for_ever])

    assert (events.failure, events.finished_ns) == ("", events.empty_ns[-1])


# ── failures, each in its class ──

HEAD_500 = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
BROKEN: dict[str, tuple[str, Sequence[Part]]] = {
    "dropped before the head": ("disconnected", [End.CLOSE]),
    "reset before the head": ("disconnected", [End.RESET]),
    "dropped in the head": ("disconnected", [b"HTTP/1.1 200 OK\r\nContent-", End.CLOSE]),
    "dropped in the stream": ("disconnected", [*chunked(GOOD)[:2], End.CLOSE]),
    "reset in the stream": ("disconnected", [*chunked(GOOD)[:2], End.RESET]),
    "a body shorter than its length": ("disconnected", [with_length(GOOD)[0], b"data: {", End.CLOSE]),
    "closed in good order without an end": ("truncated", [*GOOD[:2], End.CLOSE]),
    "500 with JSON": ("status_500", [HEAD_500 % (27, b'{"error":{"message":"boom"}}'[:27] + b"}")]),
    "500 without a body": ("status_500", [HEAD_500 % (0, b"")]),
    "500 broken off": ("status_500", [HEAD_500 % (99, b"oops"), End.CLOSE]),
    "429 with text": ("status_429", [b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nslow"]),
    "two lengths": ("malformed", [STREAM_HEAD[:-2] + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n"]),
    "a chunk without a size": ("malformed", [chunked(GOOD)[0], b"zz\r\n"]),
    "a head without an end": ("malformed", [b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000]),
    "a page of HTML": ("malformed", [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"]),
    "malformed, then an end": ("malformed", chunked([STREAM_HEAD, b"data: {oops\n\n", event("[DONE]")])),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_each_fault_has_its_class(name: str) -> None:
    failure, parts = BROKEN[name]
    events = await ask(parts)

    assert (events.failure, events.finished_ns) == (failure, None)
    assert events.detail


async def test_a_break_after_the_finish_reason_is_no_failure() -> None:
    with_usage_lost = chunked([STREAM_HEAD, event(chunk("a", [1])), event(chunk("b", [2], "stop"))])[:-1]
    events = await ask([*with_usage_lost, End.RESET])

    assert (events.failure, events.output_tokens) == ("", 2)


async def test_what_comes_behind_done_changes_nothing() -> None:
    events = await ask([*chunked(GOOD)[:-1], b"zz\r\n"])

    assert (events.failure, events.output_tokens) == ("", 2)


async def test_an_answer_without_measure_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LARGEST_ANSWER_BYTES", 1_000)
    events = await ask([chunked(GOOD)[0], *[b"20\r\n" + b": nothing to say" * 2 + b"\r\n"] * 40, for_ever])

    assert events.failure == "malformed"
    assert "1000 bytes" in events.detail


async def test_a_stream_that_stops_sending_is_a_timeout() -> None:
    events = await ask([*chunked(GOOD)[:2], for_ever], replace(SETTINGS, timeout_s=0.5))

    assert (events.failure, len(events.chunks), events.finished_ns) == ("timeout", 1, None)


async def test_with_a_limit_for_silence_it_is_stalled() -> None:
    events = await ask([*chunked(GOOD)[:2], for_ever], replace(SETTINGS, stall_s=0.2))

    assert (events.failure, len(events.chunks), events.finished_ns) == ("stalled", 1, None)


async def test_waiting_for_the_first_byte_is_no_silence() -> None:
    events = await ask([for_ever], replace(SETTINGS, timeout_s=0.2, stall_s=0.05))

    assert events.failure == "timeout"


async def test_no_usage_and_no_ids_leave_the_counts_unknown_but_the_answer_good() -> None:
    parts = [STREAM_HEAD, event(chunk("a")), event({"choices": []}), event(chunk("b", None, "stop")), event("[DONE]")]
    events = await ask(chunked(parts))

    assert (events.failure, events.prompt_tokens, events.output_tokens) == ("", None, 2)
    assert len(events.empty_ns) == 1


async def test_a_failed_request_does_not_hold_up_the_next() -> None:
    scripts = [[End.RESET], chunked(GOOD), [HEAD_500 % (0, b"")], chunked(GOOD)]
    async with (
        serving(lambda received: scripts[received.number], keep_alive=True) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        failures = [(await send(session, REQUEST, 0, SETTINGS)).failure for _ in scripts]

    assert failures == ["disconnected", "", "status_500", ""]
