"""What real servers do wrong, over real sockets: each has a class of its own, and none of it ends a run."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from paredown.client import pool
from paredown.client.server import Server
from paredown.client.streaming import SendSettings, open_session, send
from paredown.errors import UserError
from paredown.records.dialect import Dialect
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.hand_clock import HandClock
from paredown.testing.scripted_server import (
    STREAM_HEAD,
    End,
    Part,
    Received,
    answer,
    chunk,
    chunked,
    event,
    serving,
)

REQUEST = TrafficRequest("r", (Message("user", "hello"),), 2)
SETTINGS = SendSettings(ignore_eos=True, timeout_s=20.0)
CERTIFICATES = Path(__file__).parent / "certificates"
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


# ── connections that are kept ──


async def two_in_a_row(script: Callable[[Received], Sequence[Part]]) -> tuple[list[RequestEvents], list[int]]:
    """Events of two requests, and which connection each one that arrived came over."""
    async with serving(script, keep_alive=True) as server, open_session(Server(server.url, "", "m")) as session:
        events = [await send(session, replace(REQUEST, id=str(i)), 0, SETTINGS) for i in range(2)]
        return events, [received.connection for received in server.received]


async def test_a_connection_is_used_again() -> None:
    events, connections = await two_in_a_row(lambda _: chunked(GOOD))

    assert [e.failure for e in events] == ["", ""]
    assert connections == [0, 0]


async def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    events, connections = await two_in_a_row(lambda _: [*GOOD, End.CLOSE])

    assert [e.failure for e in events] == ["", ""]
    assert connections == [0, 1]


@pytest.mark.parametrize("end", End)
async def test_a_kept_connection_that_is_closed_when_the_request_comes_costs_a_fresh_one_and_no_failure(
    end: End,
) -> None:
    events, connections = await two_in_a_row(lambda received: [end] if received.number == 1 else chunked(GOOD))

    assert [e.failure for e in events] == ["", ""]
    assert connections == [0, 0, 1]
    assert events[1].attempts == 1


async def test_a_server_that_always_drops_the_request_is_a_failure_after_one_fresh_connection() -> None:
    events, connections = await two_in_a_row(lambda received: [End.RESET] if received.number else chunked(GOOD))

    assert [e.failure for e in events] == ["", "disconnected"]
    assert connections == [0, 0, 1]


async def test_bytes_behind_the_end_of_an_answer_are_not_taken_for_the_next_one() -> None:
    raw = b"".join(part for part in chunked(GOOD) if isinstance(part, bytes))
    smuggled = chunked(answer([7, 8]))[0]
    assert isinstance(smuggled, bytes)
    events, connections = await two_in_a_row(lambda _: [raw + smuggled])

    assert [[c.token_ids for c in e.chunks] for e in events] == [[(1,), (2,)]] * 2
    assert connections == [0, 1]


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


# ── TLS ──


def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "localhost.pem", CERTIFICATES / "localhost-key.pem")
    return context


async def ask_over_tls(ca_file: Path | None) -> RequestEvents:
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True, tls=tls()) as server,
        open_session(Server(server.url, "", "m", ca_file)) as session,
    ):
        return await send(session, REQUEST, 0, SETTINGS)


async def test_a_certificate_of_a_named_authority_is_trusted() -> None:
    events = await ask_over_tls(CERTIFICATES / "localhost.pem")

    assert (events.failure, len(events.chunks)) == ("", 2)


@pytest.mark.parametrize("ca_file", [None, CERTIFICATES / "another-authority.pem"])
async def test_a_certificate_of_nobody_known_has_its_own_class(ca_file: Path | None) -> None:
    events = await ask_over_tls(ca_file)

    assert events.failure == "bad_certificate"
    assert "certificate" in events.detail


async def test_tls_to_a_server_without_it_is_refused_with_the_reason() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with open_session(Server(url, "", "m")) as session:
            events = await send(session, REQUEST, 0, SETTINGS)

    assert events.failure == "refused"
    assert "SSL" in events.detail


async def test_a_file_that_holds_no_authority_is_the_users_mistake(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    with pytest.raises(UserError, match=r"empty\.pem"):
        async with open_session(Server("https://127.0.0.1:1", "", "m", empty)):
            pass


# ── tries ──


async def try_again(scripts: Sequence[Sequence[Part]], retries: int) -> tuple[RequestEvents, int, HandClock]:
    """The clock jumps to whatever is waited for."""

    class Jumping(HandClock):
        async def sleep_until_ns(self, due_ns: int) -> None:
            self.time_ns = max(self.time_ns, due_ns)

    clock = Jumping(1_000)
    async with (
        serving(lambda received: scripts[received.number], keep_alive=True) as server,
        open_session(Server(server.url, "", "m"), clock) as session,
    ):
        events = await send(session, REQUEST, 700, replace(SETTINGS, timeout_s=200.0, retries=retries))
        return events, len(server.received), clock


BUSY = [b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nslow"]


async def test_nothing_is_sent_twice_unless_asked_for() -> None:
    events, received, _ = await try_again([BUSY, GOOD], retries=0)

    assert (events.failure, events.attempts, received) == ("status_429", 1, 1)


async def test_a_retry_keeps_the_time_at_which_it_was_due_and_first_sent() -> None:
    events, received, clock = await try_again([BUSY, [HEAD_500 % (0, b"")], GOOD], retries=3)

    assert (events.failure, events.attempts, received) == ("", 3, 3)
    assert (events.scheduled_ns, events.sent_ns) == (700, 1_000)
    assert clock.time_ns == 1_000 + 500_000_000 + 1_000_000_000
    assert events.chunks[0].arrived_ns == clock.time_ns


async def test_the_server_says_how_long_to_wait() -> None:
    busy = [BUSY[0].replace(b"\r\n\r\n", b"\r\nRetry-After: 7\r\n\r\n")]
    _, _, clock = await try_again([busy, GOOD], retries=1)

    assert clock.time_ns == 1_000 + 7_000_000_000


async def test_a_pause_beyond_the_time_limit_is_not_waited_for() -> None:
    busy = [BUSY[0].replace(b"\r\n\r\n", b"\r\nRetry-After: 3600\r\n\r\n")]
    events, received, _ = await try_again([busy, GOOD], retries=1)

    assert (events.failure, received) == ("status_429", 1)


@pytest.mark.parametrize(
    "parts", [[*chunked(GOOD)[:2], End.RESET], [End.CLOSE], chunked([STREAM_HEAD, b"data: [\n\n"])]
)
async def test_what_another_try_does_not_mend_or_has_brought_a_token_is_not_tried_again(parts: Sequence[Part]) -> None:
    events, received, _ = await try_again([parts, GOOD], retries=5)

    assert events.failure
    assert received == 1


# ── what is sent ──


@pytest.mark.parametrize("given", ["/v1", "/v1/", "", "/", "/v1/chat/completions"])
async def test_the_url_may_have_its_v1_or_not(given: str) -> None:
    async with serving(lambda _: GOOD) as server, open_session(Server(server.url + given, "", "m")) as session:
        await send(session, REQUEST, 0, SETTINGS)

    assert server.received[0].path == "/v1/chat/completions"
    assert server.received[0].headers["host"] == server.url.removeprefix("http://")


async def test_fields_that_the_server_does_not_take_are_left_out() -> None:
    small = Dialect(
        ignore_eos=False, return_token_ids=False, include_usage=False, max_tokens_field="max_completion_tokens"
    )
    async with serving(lambda _: GOOD) as server, open_session(Server(server.url, "", "m", dialect=small)) as session:
        await send(session, REQUEST, 0, SETTINGS)

    assert set(server.received[0].body) == {"model", "messages", "max_completion_tokens", "temperature", "stream"}


@pytest.mark.parametrize("url", ["ftp://host", "host:8000", "http://", "http://host:99999"])
async def test_a_url_of_no_server_is_the_users_mistake(url: str) -> None:
    with pytest.raises(UserError, match="http://127"):
        async with open_session(Server(url, "", "m")):
            pass


async def test_a_key_with_the_end_of_its_line_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="API key"):
        async with open_session(Server("http://127.0.0.1:1", "secret\n", "m")):
            pass


async def test_connections_are_made_before_they_are_needed() -> None:
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        await session.pool.prepare(40)
        await asyncio.gather(*(send(session, replace(REQUEST, id=str(i)), 0, SETTINGS) for i in range(40)))

        assert server.connections == 40
        assert {received.connection for received in server.received} == set(range(40))


async def test_where_making_a_connection_takes_long_a_few_are_kept_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SPARE_ABOVE_S", 0.0)
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        await session.pool.prepare(1)
        await asyncio.gather(*(send(session, replace(REQUEST, id=str(i)), 0, SETTINGS) for i in range(3)))

        assert pool.SPARE <= server.connections <= 3 + pool.SPARE


async def test_on_one_machine_no_connection_stays_idle_that_nobody_needed() -> None:
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True) as server,
        open_session(Server(server.url, "", "m")) as session,
    ):
        await send(session, REQUEST, 0, SETTINGS)

        assert server.connections == 1


async def test_a_client_that_may_open_no_more_files_does_not_blame_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_more(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async with open_session(Server("http://127.0.0.1:1", "", "m")) as session:
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", no_more)
        with pytest.raises(UserError, match="ulimit"):
            await send(session, REQUEST, 0, SETTINGS)
