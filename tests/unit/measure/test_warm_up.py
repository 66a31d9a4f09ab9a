"""Warm-up goes on until the engine is at rest, and says when it was not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from paredown.measure.warm_up import MOST_ROUNDS, requests_like, slow_start_note, unsteady_note, until_at_rest
from paredown.records.events import Block, RequestEvents, WarmUp
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.scripted_events import block, request

TWO = tuple(TrafficRequest(f"r{i}", (Message("user", f"tell me of {i} things"),), 20) for i in range(2))


class ScriptedEngine:
    """Takes `ms(number)` to the first token and a tenth of that for each token, and moves the clock by all of it."""

    def __init__(self, ms: Callable[[int], float]) -> None:
        self.ms, self.now_ms, self.sent = ms, 0.0, 0

    def send(self, requests: Sequence[TrafficRequest]) -> Sequence[RequestEvents]:
        events = []
        for _ in requests:
            pace, begun = self.ms(self.sent), self.now_ms
            arrivals = [begun + pace + pace / 10 * token for token in range(8)]
            events.append(request(arrivals, due_ms=begun))
            self.now_ms, self.sent = arrivals[-1], self.sent + 1
        return events

    def warm_up(self) -> WarmUp:
        return until_at_rest(TWO, 2, self.send, lambda: self.now_ms / 1e3)


def test_an_engine_at_rest_gets_two_rounds() -> None:
    assert ScriptedEngine(lambda _: 10.0).warm_up() == WarmUp(4, pytest.approx(0.068), steady=True)


def test_an_engine_that_compiles_at_its_first_request_gets_another_round() -> None:
    found = ScriptedEngine(lambda number: 100.0 if number == 0 else 10.0).warm_up()

    assert (found.requests, found.steady, found.note) == (6, True, "")


def test_an_engine_that_compiles_each_shape_gets_another_round() -> None:
    assert ScriptedEngine(lambda number: 100.0 if number < 2 else 10.0).warm_up().requests == 6


def test_an_engine_that_becomes_slower_is_not_at_rest() -> None:
    assert ScriptedEngine(lambda number: 10.0 if number < 2 else 20.0).warm_up().requests == 6


def test_an_engine_that_never_comes_to_rest_is_given_up_and_said_to_be() -> None:
    found = ScriptedEngine(lambda number: 1000.0 / 2 ** (number // 2)).warm_up()

    assert (found.requests, found.steady) == (2 * MOST_ROUNDS, False)
    assert found.note.startswith(f"warm-up had not come to rest after {MOST_ROUNDS} rounds")


def test_a_slow_engine_gets_few_requests() -> None:
    found = ScriptedEngine(lambda _: 4000.0).warm_up()

    assert (found.requests, found.steady) == (2, None)
    assert "no second to compare it with" in found.note


def test_rounds_have_the_same_words_in_another_order_and_never_that_of_the_prompt() -> None:
    prompts = [requests_like(TWO[:1], 1, round_)[0].messages[0].content for round_ in range(5)]

    assert prompts[0] == "things 0 of me tell"
    assert len({tuple(sorted(prompt.split())) for prompt in prompts}) == 1
    assert len(set(prompts)) == 5
    assert TWO[0].messages[0].content not in prompts


def test_a_prompt_of_two_words_is_never_sent_as_it_is() -> None:
    short = [TrafficRequest("r", (Message("user", "hello world"),), 20)]

    assert {requests_like(short, 1, round_)[0].messages[0].content for round_ in range(3)} == {"world hello"}


# ── what is told of it ───────────────────────────────────────────────────────────────────────────────────────────


def timed(*paces_ms: float, prompt_tokens: int = 10) -> Block:
    """Requests one after the other, the first token after ten paces, then nine tokens a pace apart."""
    made, now = [], 0.0
    for number, pace in enumerate(paces_ms):
        arrivals = [now + 10 * pace + pace * token for token in range(10)]
        made.append(request(arrivals, name=f"r{number}", due_ms=now, prompt_tokens=prompt_tokens))
        now = arrivals[-1] + 1
    return block(*made)


def test_a_first_request_that_is_slower_than_the_rest_is_told() -> None:
    note = slow_start_note([timed(30, 10, 10, 10), timed(31, 10, 10, 10)])

    assert note.startswith("the first measured request took 3.")
    assert note.endswith("warm-up had not ended")


def test_one_slow_start_among_several_blocks_is_an_accident() -> None:
    assert slow_start_note([timed(30, 10, 10, 10), timed(10, 10, 10, 10), timed(10, 11, 10, 9)]) == ""


def test_a_slow_first_token_is_told_only_where_the_prompt_is_not_longer() -> None:
    steady = timed(10, 10, 10, 10)
    first, *rest = steady.requests
    late = replace(first, chunks=tuple(replace(c, arrived_ns=c.arrived_ns - 90_000_000) for c in first.chunks))
    early = replace(steady, requests=(late, *rest))
    slow = replace(
        steady,
        requests=(replace(first, scheduled_ns=-900_000_000, sent_ns=-900_000_000), *rest),
    )
    longer = replace(slow, requests=(replace(slow.requests[0], prompt_tokens=100), *rest))

    assert slow_start_note([early]) == ""
    assert "10.0 times" in slow_start_note([slow])
    assert slow_start_note([longer]) == ""


def test_two_requests_cannot_tell() -> None:
    assert slow_start_note([timed(30, 10)]) == ""


def test_blocks_whose_warm_up_did_not_end_are_counted() -> None:
    blocks = [replace(timed(10), warm_up=WarmUp(4, 1.0, steady, note)) for steady, note in ((True, ""), (False, "no"))]

    assert unsteady_note(blocks) == "in 1 of 2 blocks: no"
    assert unsteady_note(blocks[:1]) == ""
