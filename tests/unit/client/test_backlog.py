from __future__ import annotations

import asyncio

from paredown.client import backlog as backlogs
from paredown.client.backlog import Backlog
from paredown.client.connection import Answer
from paredown.client.reading import Sent
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.scripted_server import answer


def sent(name: str, tokens: int) -> Sent:
    """An answer whose k-th piece came at k ns."""
    parts = [part for part in answer(range(tokens))[1:] if isinstance(part, bytes)]
    raw = Answer(asyncio.get_running_loop().create_future(), list(enumerate(parts)), 200)
    raw.content_type, raw.body_bytes, raw.last_ns = "text/event-stream", sum(map(len, parts)), len(parts)
    return Sent(TrafficRequest(name, (Message("user", "x"),), tokens), 0, 0, raw)


async def turns(count: int = 50) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_nothing_is_read_before_the_load_is_over() -> None:
    backlog = Backlog()
    for name in "abc":
        backlog.add(sent(name, 40))
    await turns()

    assert backlog.read_early == 0
    assert backlog.waiting_bytes > 0
    assert {name: len(events.chunks) for name, events in (await backlog.read_all()).items()} == dict.fromkeys("abc", 40)


async def test_beyond_its_limit_the_oldest_are_read_and_their_bytes_are_free() -> None:
    one = sent("a", 40)
    assert one.answer is not None
    backlog = Backlog(limit_bytes=3 * one.answer.body_bytes)
    for name in "abcd":
        backlog.add(sent(name, 40))
    await turns()

    assert backlog.read_early == 3
    assert backlog.waiting_bytes <= 1.5 * one.answer.body_bytes
    events = await backlog.read_all()
    assert list(events) == list("abcd")
    assert [chunk.arrived_ns for chunk in events["a"].chunks] == list(range(40))


async def test_other_work_goes_on_between_a_few_pieces() -> None:
    pieces = 10 * backlogs.PIECES_AT_ONCE
    backlog = Backlog(limit_bytes=1)
    backlog.add(sent("a", pieces))
    await turns(5)

    assert backlog.read_early == 0
    await turns(20)
    assert backlog.read_early == 1


async def test_an_answer_that_is_being_read_when_the_load_ends_is_not_lost() -> None:
    backlog = Backlog(limit_bytes=1)
    backlog.add(sent("a", 10 * backlogs.PIECES_AT_ONCE))
    backlog.add(sent("b", 3))
    await turns(3)

    events = await backlog.read_all()
    assert {name: len(found.chunks) for name, found in events.items()} == {"a": 160, "b": 3}
    assert asyncio.all_tasks() == {asyncio.current_task()}
