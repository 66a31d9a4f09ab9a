"""Trials against a scripted server: what is sent, in which order, and what is kept."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterator

import pytest

from paredown.errors import EngineDied, EngineError, EngineHung, UserError
from paredown.measure import interleave, trial
from paredown.measure.running import Running
from paredown.measure.trial import TrialSettings, requests_of_block
from paredown.records.dialect import Dialect
from paredown.records.events import Block, StartUp
from paredown.records.traffic import Message, Traffic, TrafficRequest
from paredown.testing.scripted_server import Part, Received, Script, answer, serving_in_thread

CHAT = Traffic(
    "chat", "", "single_stream", tuple(TrafficRequest(f"c{i}", (Message("user", f"say {i} now"),), 3) for i in range(6))
)
CROWD = Traffic(
    "crowd",
    "",
    "closed_loop",
    tuple(TrafficRequest(f"k{i}", (Message("user", f"crowd {i} speaks"),), 2) for i in range(4)),
    {"concurrency": 2},
)


class FakeRunning:
    """A started engine that is a scripted server in this process: it has no process of its own."""

    def __init__(self, url: str, log: list[str], error: Exception | None) -> None:
        self.url, self.api_key, self.model_name = url, "k", "m"
        self.ca_file, self.dialect = None, Dialect()
        self.started_ns = time.monotonic_ns()
        self.startup: StartUp | None = StartUp(loaded_ns=5, ready_ns=10)
        self._log, self._error = log, error

    def process_ids(self) -> tuple[int, ...]:
        return ()

    def host_info(self) -> None:
        return None

    def raise_if_ended(self) -> None:
        if self._error:
            raise self._error


def good(received: Received) -> list[Part]:
    count = received.body["max_tokens"]
    assert isinstance(count, int)
    return answer(range(count))


class Engine:
    """Starts scripted servers and keeps what they were sent, process by process."""

    def __init__(self, script: Script = good, error: Exception | None = None, name: str = "") -> None:
        self.script, self.error, self.name = script, error, name
        self.log: list[str] = []
        self.prompts: list[list[str]] = []

    @contextlib.contextmanager
    def start(self) -> Iterator[Running]:
        with serving_in_thread(self.script) as server:
            self.log.append("start")
            yield FakeRunning(server.url, self.log, self.error)
        self.log.append("stop")
        self.prompts.append([json.loads(json.dumps(r.body["messages"]))[0]["content"] for r in server.received])


def test_a_block_is_a_fresh_process_with_its_own_requests() -> None:
    engine = Engine()
    (measured,) = trial.run(engine.start, "a", [CHAT], TrialSettings(blocks=3, requests_per_block=2))

    assert engine.log == ["start", "stop"] * 3
    assert [[r.id for r in b.requests] for b in measured.blocks] == [["c0", "c1"], ["c2", "c3"], ["c4", "c5"]]
    assert all(block.fresh_process for block in measured.blocks)
    assert (measured.candidate, measured.traffic, measured.concurrency, measured.void) == ("a", "chat", 1, "")


def test_a_warm_process_is_cut_into_blocks_and_meets_no_prompt_twice() -> None:
    engine = Engine()
    (measured,) = trial.run(engine.start, "a", [CHAT], TrialSettings(blocks=3, fresh=False))

    assert engine.log == ["start", "stop"]
    assert [[r.id for r in b.requests] for b in measured.blocks] == [["c0", "c1"], ["c2", "c3"], ["c4", "c5"]]
    assert len(set(engine.prompts[0][3:])) == 6
    assert [b.startup is not None for b in measured.blocks] == [True, False, False]


def test_warm_up_comes_first_with_prompts_of_its_own_and_is_not_in_the_block() -> None:
    engine = Engine()
    (measured,) = trial.run(engine.start, "a", [CHAT], TrialSettings(blocks=1, warmup_requests=2))
    sent = engine.prompts[0]

    assert sent[:3] == ["now 0 say", "now 0 say", "now 1 say"]
    assert sent[3:] == [f"say {i} now" for i in range(6)]
    assert len(measured.blocks[0].requests) == 6


def test_the_first_token_of_warm_up_ends_the_start_up() -> None:
    (measured,) = trial.run(Engine().start, "a", [CHAT], TrialSettings(blocks=1, requests_per_block=1))
    startup = measured.blocks[0].startup

    assert startup is not None
    assert startup.first_token_ns is not None
    assert startup.ready_ns < startup.first_token_ns < measured.blocks[0].requests[0].sent_ns


def test_one_process_serves_every_traffic_and_gives_a_trial_for_each() -> None:
    engine = Engine()
    chat, crowd = trial.run(engine.start, "a", [CHAT, CROWD], TrialSettings(blocks=1))

    assert engine.log == ["start", "stop"]
    assert (chat.traffic, crowd.traffic, crowd.concurrency) == ("chat", "crowd", 2)
    assert [r.id for r in crowd.blocks[0].requests] == ["k0", "k1", "k2", "k3"]


def test_blocks_that_are_done_are_not_measured_again() -> None:
    first, told = Engine(), {}

    def keep(candidate: str, index: int, blocks: object) -> None:
        told[index] = blocks

    trial.run(first.start, "a", [CHAT], TrialSettings(blocks=2, requests_per_block=1), on_block=keep)
    second = Engine()
    (measured,) = trial.run(
        second.start, "a", [CHAT], TrialSettings(blocks=3, requests_per_block=1), done={0: told[0], 1: told[1]}
    )

    assert second.log == ["start", "stop"]
    assert [b.index for b in measured.blocks] == [0, 1, 2]
    assert measured.blocks[0] == told[0]["chat"]


def test_forced_lengths_that_are_not_obeyed_make_the_trial_void() -> None:
    (measured,) = trial.run(Engine(lambda _: answer([1, 2])).start, "a", [CHAT], TrialSettings(blocks=1))

    assert "forced length" in measured.void
    assert "2 tokens instead of 3" in measured.void


def test_some_failed_requests_are_kept_as_failures() -> None:
    numbers = itertools.count()
    flaky = Engine(lambda r: good(r) if next(numbers) != 5 else [])
    (measured,) = trial.run(flaky.start, "a", [CHAT], TrialSettings(blocks=1))

    assert [r.failure for r in measured.requests()] == ["", "", "disconnected", "", "", ""]


def test_an_engine_that_answers_nothing_is_an_error_with_its_own_words() -> None:
    broken = Engine(lambda _: [b'HTTP/1.1 500 Oops\r\nContent-Length: 30\r\n\r\n{"error":{"message":"no GPU"}}'])
    with pytest.raises(EngineError, match="status_500") as caught:
        trial.run(broken.start, "a", [CHAT], TrialSettings(blocks=1))

    assert broken.log == ["start", "stop"]
    assert "no GPU" in caught.value.detail


def test_an_engine_that_died_is_said_to_have_died() -> None:
    with pytest.raises(EngineDied):
        trial.run(Engine(lambda _: [], EngineDied("gone")).start, "a", [CHAT], TrialSettings(blocks=1))


@pytest.mark.parametrize("traffic", [CHAT, CROWD])
def test_an_engine_that_hangs_is_given_up_after_three_requests(traffic: Traffic) -> None:
    numbers = itertools.count()

    async def for_ever() -> None:
        import asyncio

        await asyncio.Event().wait()

    warm_up = 3
    engine = Engine(lambda r: good(r) if next(numbers) < warm_up else [for_ever])
    with pytest.raises(EngineHung, match="3 requests in a row"):
        trial.run(engine.start, "a", [traffic], TrialSettings(blocks=1, request_timeout_s=0.05))


def test_a_warm_process_needs_a_request_for_each_block() -> None:
    with pytest.raises(UserError, match="6 requests and 7 blocks"):
        requests_of_block(CHAT, TrialSettings(blocks=7, fresh=False), 0)


def test_fresh_processes_go_round_when_the_traffic_is_used_up() -> None:
    ids = [r.id for r in requests_of_block(CHAT, TrialSettings(requests_per_block=4), 1)]

    assert ids == ["c4", "c5", "c0", "c1"]


# ── in turns ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_round_goes_in_the_opposite_order() -> None:
    order = "".join(turn.candidate for turn in interleave.turns(["A", "B", "C"], 3))

    assert order == "ABCCBAABC"


def test_candidates_take_turns_and_meet_the_same_requests() -> None:
    order: list[str] = []

    def named(name: str) -> Callable[[], contextlib.AbstractContextManager[Running]]:
        @contextlib.contextmanager
        def start() -> Iterator[Running]:
            order.append(name)
            with Engine().start() as running:
                yield running

        return start

    found = interleave.run({"A": named("A"), "B": named("B")}, [CHAT], TrialSettings(blocks=2, requests_per_block=2))
    ids = {name: [[r.id for r in b.requests] for b in trials[0].blocks] for name, trials in found.trials.items()}

    assert order == ["A", "B", "B", "A"]
    assert ids["A"] == ids["B"] == [["c0", "c1"], ["c2", "c3"]]


def test_an_engine_that_fails_ends_its_own_turns_only() -> None:
    dead = Engine(lambda _: [], EngineDied("gone"))
    found = interleave.run({"A": Engine().start, "B": dead.start}, [CHAT], TrialSettings(blocks=2))

    assert len(found.trials["A"][0].blocks) == 2
    assert "B" not in found.trials
    assert isinstance(found.failed["B"], EngineDied)
    assert dead.log == ["start", "stop"]


def test_turns_that_are_done_are_not_taken_again() -> None:
    kept: dict[str, dict[int, dict[str, Block]]] = {"A": {}, "B": {}}

    def keep(name: str, index: int, blocks: object) -> None:
        kept[name][index] = blocks  # type: ignore[assignment]

    settings = TrialSettings(blocks=2, requests_per_block=1)
    interleave.run({"A": Engine().start, "B": Engine().start}, [CHAT], settings, on_block=keep)
    del kept["B"][1]
    a, b = Engine(), Engine()
    found = interleave.run({"A": a.start, "B": b.start}, [CHAT], settings, done=kept)

    assert (a.log, b.log) == ([], ["start", "stop"])
    assert [len(trials[0].blocks) for trials in found.trials.values()] == [2, 2]


def test_a_block_under_concurrency_holds_two_rounds_of_it() -> None:
    assert len(requests_of_block(CROWD, TrialSettings(requests_per_block=1), 0)) == 4
