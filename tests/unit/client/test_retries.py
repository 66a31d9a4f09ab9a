"""What is sent again, when, and what becomes of the times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from paredown.client import retries
from paredown.client.reading import Sent
from paredown.client.server import Server
from paredown.client.streaming import SendSettings, open_session, send
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.hand_clock import HandClock
from paredown.testing.scripted_server import (
    STREAM_HEAD,
    End,
    Part,
    answer,
    chunked,
    serving,
)

REQUEST = TrafficRequest("r", (Message("user", "hello"),), 2)
SETTINGS = SendSettings(ignore_eos=True, timeout_s=20.0)
GOOD = answer([1, 2])


HEAD_500 = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


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


HEAD_400 = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "parts", [[*chunked(GOOD)[:2], End.RESET], [End.CLOSE], [HEAD_400], chunked([STREAM_HEAD, b"data: [\n\n"])]
)
async def test_what_another_try_does_not_mend_or_has_brought_a_token_is_not_tried_again(parts: Sequence[Part]) -> None:
    events, received, _ = await try_again([parts, GOOD], retries=5)

    assert events.failure
    assert received == 1


@pytest.mark.parametrize(("failure", "pause_s"), [("refused", 0.5), ("bad_certificate", None), ("timeout", None)])
def test_of_what_never_got_through_only_a_refusal_is_tried_again(failure: str, pause_s: float | None) -> None:
    assert retries.pause_s(Sent(REQUEST, 0, 0, None, failure)) == pause_s


@pytest.mark.parametrize(("attempts", "pause_s"), [(1, 0.5), (2, 1.0), (5, 8.0), (50, 30.0)])
def test_pauses_grow_to_half_a_minute(attempts: int, pause_s: float) -> None:
    assert retries.pause_s(Sent(REQUEST, 0, 0, None, "refused", attempts=attempts)) == pause_s
