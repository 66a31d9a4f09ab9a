"""What the client records of good, odd and broken servers, against a scripted one with its own clock."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from dataclasses import replace

import pytest

from paredown.client.server import Server
from paredown.client.streaming import SendSettings, complete, open_session, send
from paredown.contracts import Clock
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.hand_clock import HandClock
from paredown.testing.scripted_server import (
    STREAM_HEAD,
    Part,
    Received,
    answer,
    chunk,
    event,
    serving,
    serving_in_thread,
    usage_chunk,
)

REQUEST = TrafficRequest("r1", (Message("user", "Grüße?"),), 3)


FORCED = SendSettings(ignore_eos=True, timeout_s=20.0)


async def receive(parts: Sequence[Part], clock: Clock | None = None, settings: SendSettings = FORCED) -> RequestEvents:
    async with serving(lambda _: parts) as server, open_session(Server(server.url, "secret", "m"), clock) as session:
        return await send(session, REQUEST, 0, settings)


async def test_a_good_answer_is_kept_chunk_by_chunk() -> None:
    events = await receive(answer([11, 12, 13], prompt_tokens=7))

    assert [c.token_ids for c in events.chunks] == [(11,), (12,), (13,)]
    assert (events.output_tokens, events.prompt_tokens, events.wanted_tokens) == (3, 7, 3)
    assert (events.finish_reason, events.failure, events.text) == ("length", "", " 11 12 13")
    assert events.finished_ns is not None


async def test_chunks_carry_the_time_at_which_they_arrived() -> None:
    clock = HandClock(now_ns=1_000)
    written: list[int] = []

    async def client_has_read_then_advance() -> None:
        written.append(clock.time_ns)
        await clock.until_read(clock.readings + 1)
        clock.advance(7_000_000)

    async def wait_then_advance() -> None:
        await clock.until_read(clock.readings + 1)
        clock.advance(40_000_000)

    events = await receive(
        [
            STREAM_HEAD,
            wait_then_advance,
            event(chunk("a", [1])),
            client_has_read_then_advance,
            event(chunk("b", [2])),
            client_has_read_then_advance,
            event(chunk("c", [3], "length")),
            client_has_read_then_advance,
            event(usage_chunk(1, 3)),
        ],
        clock,
    )

    assert events.sent_ns == 1_000
    assert [c.arrived_ns for c in events.chunks] == written == [40_001_000, 47_001_000, 54_001_000]
    assert (events.empty_ns, events.finished_ns) == ((61_001_000,), 61_001_000)


async def test_the_request_asks_for_ids_usage_and_the_forced_length() -> None:
    async with serving(lambda _: answer([1])) as server, open_session(Server(server.url, "k", "m")) as session:
        await send(session, REQUEST, 0, FORCED)
    body = server.received[0].body

    assert server.received[0].path == "/v1/chat/completions"
    assert server.received[0].headers["authorization"] == "Bearer k"
    assert body["messages"] == [{"role": "user", "content": "Grüße?"}]
    assert (body["max_tokens"], body["temperature"], body["stream"]) == (3, 0, True)
    assert (body["ignore_eos"], body["return_token_ids"]) == (True, True)
    assert body["stream_options"] == {"include_usage": True}


async def test_an_unforced_request_does_not_mention_ignore_eos() -> None:
    async with serving(lambda _: answer([1])) as server, open_session(Server(server.url, "", "m")) as session:
        await send(session, REQUEST, 0, replace(FORCED, ignore_eos=False))

    assert "ignore_eos" not in server.received[0].body
    assert "authorization" not in server.received[0].headers


async def test_role_only_and_empty_chunks_carry_no_token() -> None:
    role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
    events = await receive([STREAM_HEAD, event(role), event(chunk("")), event({"choices": []}), *answer([1])[1:]])

    assert len(events.chunks) == 1
    assert len(events.empty_ns) == 4  # role, empty text, no choices, usage
    assert events.failure == ""


async def test_a_token_that_does_not_end_a_character_still_counts() -> None:
    parts = [STREAM_HEAD, event(chunk("", [1])), event(chunk("é", [2], "length")), event(usage_chunk(1, 2))]
    events = await receive(parts)

    assert [c.token_ids for c in events.chunks] == [(1,), (2,)]


async def test_text_without_an_id_is_no_token_where_the_server_names_ids() -> None:
    parts = [STREAM_HEAD, event(chunk("a", [1])), event(chunk("rest", [], "length")), event(usage_chunk(1, 1))]
    events = await receive(parts)

    assert (len(events.chunks), events.output_tokens, events.text) == (1, 1, "arest")
    assert len(events.empty_ns) == 2


async def test_a_server_without_ids_is_counted_by_its_usage() -> None:
    parts = [STREAM_HEAD, event(chunk("a b")), event(chunk(" c d", None, "length")), event(usage_chunk(1, 4))]
    events = await receive(parts)

    assert [c.token_ids for c in events.chunks] == [(), ()]
    assert events.output_tokens == 4


async def test_without_usage_the_ids_are_counted() -> None:
    events = await receive([STREAM_HEAD, event(chunk("a", [1, 2])), event(chunk("b", [3], "stop")), event("[DONE]")])

    assert (events.output_tokens, events.prompt_tokens) == (3, None)


async def test_the_engine_stamp_and_cached_tokens_are_kept() -> None:
    parts = [
        STREAM_HEAD,
        event(chunk("a", [1], "stop", paredown={"engine_ns": 123})),
        event(usage_chunk(90, 1, cached_tokens=64)),
    ]
    events = await receive(parts)

    assert events.chunks[0].engine_ns == 123
    assert events.cached_tokens == 64


async def test_a_missing_done_is_no_failure_when_the_answer_has_an_end() -> None:
    assert (await receive(answer([1])[:-1])).failure == ""


async def test_a_character_split_between_two_reads_is_whole() -> None:
    raw = event(chunk("é", [1], "stop")).replace(b"\\u00e9", "é".encode())
    cut = raw.index("é".encode()) + 1

    assert (await receive([STREAM_HEAD, raw[:cut], raw[cut:], event("[DONE]")])).text == "é"


async def test_a_stream_may_use_carriage_returns_and_no_space() -> None:
    raw = b"".join(part for part in answer([1, 2])[1:] if isinstance(part, bytes))
    events = await receive([STREAM_HEAD, raw.replace(b"data: ", b"data:").replace(b"\n", b"\r\n")])

    assert (len(events.chunks), events.failure) == (2, "")


def head(status: str, content_type: str = "application/json") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nConnection: close\r\n\r\n".encode()


CHUNKED_HEAD = STREAM_HEAD.replace(b"Connection: close\r\n", b"Transfer-Encoding: chunked\r\n")

BROKEN: dict[str, tuple[str, Sequence[Part]]] = {
    "a status": ("status_500", [head("500 Internal Server Error"), b'{"error":{"message":"boom"}}']),
    "too many requests": ("status_429", [head("429 Too Many Requests"), b"slow down"]),
    "a redirect": ("status_302", [b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"]),
    "an error event": ("error_object", [STREAM_HEAD, event({"error": {"message": "out of memory"}})]),
    "an error body with status 200": ("error_object", [head("200 OK"), b'{"error":{"message":"boom"}}']),
    "an answer that is not streamed": ("malformed", [head("200 OK"), b'{"choices":[]}']),
    "broken JSON": ("malformed", [STREAM_HEAD, b"data: {oops\n\n"]),
    "invalid UTF-8": ("malformed", [STREAM_HEAD, b'data: {"a":"\xff"}\n\n']),
    "a list": ("malformed", [STREAM_HEAD, b"data: []\n\n", b"data: [1]\n\n"]),
    "choices of text": ("malformed", [STREAM_HEAD, b'data: {"choices":["x"]}\n\n']),
    "ids of text": ("malformed", [STREAM_HEAD, event({"choices": [{"delta": {"content": "x"}, "token_ids": ["1"]}]})]),
    "content that is a number": ("malformed", [STREAM_HEAD, event({"choices": [{"delta": {"content": 5}}]})]),
    "usage below zero": ("malformed", [STREAM_HEAD, event(usage_chunk(1, -1))]),
    "no finish reason": ("truncated", [STREAM_HEAD, event(chunk("a", [1])), event("[DONE]")]),
    "an end in the middle": ("truncated", [STREAM_HEAD, event(chunk("a", [1]))]),
    "an end within an event": ("truncated", [STREAM_HEAD, event(chunk("a", [1])), b'data: {"choi']),
    "nothing at all": ("truncated", [STREAM_HEAD]),
    "an end without a token": ("no_tokens", [STREAM_HEAD, event(chunk("", None, "stop")), event("[DONE]")]),
    "a lost connection": ("disconnected", [CHUNKED_HEAD, b"20\r\ndata: "]),
    "no answer": ("disconnected", []),
    "what is not HTTP": ("malformed", [b"\x00\x01\x02\r\n\r\n"]),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_each_failure_has_its_own_class_and_nothing_raises(name: str) -> None:
    failure, parts = BROKEN[name]
    events = await receive(parts)

    assert (events.failure, events.finished_ns) == (failure, None)
    assert events.detail


async def test_the_servers_own_words_are_kept() -> None:
    assert (await receive(BROKEN["an error event"][1])).detail == "out of memory"


async def test_tokens_before_a_failure_are_kept_but_not_called_finished() -> None:
    events = await receive([STREAM_HEAD, event(chunk("a", [1])), b"data: {oops\n\n"])

    assert (len(events.chunks), events.failure, events.finished_ns) == (1, "malformed", None)


async def test_a_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with open_session(Server(f"http://127.0.0.1:{port}", "", "m")) as session:
        events = await send(session, REQUEST, 0, FORCED)

    assert events.failure == "refused"


async def test_an_answer_that_does_not_end_is_a_timeout() -> None:
    async def for_ever() -> None:
        await asyncio.Event().wait()

    events = await receive([STREAM_HEAD, event(chunk("a", [1])), for_ever], settings=replace(FORCED, timeout_s=0.5))

    assert (events.failure, len(events.chunks)) == ("timeout", 1)


def test_complete_keeps_the_order_and_the_concurrency() -> None:
    requests = [TrafficRequest(f"r{i}", (Message("user", str(i)),), 1) for i in range(9)]
    done: list[str] = []

    def script(received: Received) -> list[Part]:
        content = json.dumps(received.body["messages"])
        return answer([int("".join(filter(str.isdigit, content)))])

    with serving_in_thread(script) as server:
        events = complete(
            server.url,
            "",
            "m",
            requests,
            concurrency=3,
            ignore_eos=False,
            timeout_s=20.0,
            on_done=lambda finished: done.append(finished.id),
        )

    assert [e.id for e in events] == [r.id for r in requests]
    assert [e.chunks[0].token_ids[0] for e in events] == list(range(9))
    assert sorted(done) == [r.id for r in requests]


def test_complete_refuses_a_concurrency_of_zero() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        complete("http://127.0.0.1:1", "", "m", [REQUEST], concurrency=0, ignore_eos=False, timeout_s=1.0)
