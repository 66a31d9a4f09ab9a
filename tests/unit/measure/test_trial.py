"""Trials against a scripted server: what is sent, in which order, and what is kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

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

    def __init__(self, url: str, log: list[str], error: Exception | None, dialect: Dialect) -> None:
        self.url, self.api_key, self.model_name = url, "k", "m"
        self.ca_file, self.dialect = None, dialect
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


# What the client may be late by is tested elsewhere, and this machine may be busy.
UNHURRIED = TrialSettings(blocks=1, ttft_target_s=60.0)


def prompt_of(received: Received) -> object:
    messages = received.body["messages"]
    assert isinstance(messages, list)
    return messages[0]["content"]


class Engine:
    """Starts scripted servers and keeps what they were sent, process by process."""

    def __init__(self, script: Script = good, error: Exception | None = None, dialect: Dialect | None = None) -> None:
        self.script, self.error, self.dialect = script, error, dialect or Dialect()
        self.log: list[str] = []
        self.prompts: list[list[str]] = []

    @contextlib.contextmanager
    def start(self) -> Iterator[Running]:
        with serving_in_thread(self.script) as server:
            self.log.append("start")
            yield FakeRunning(server.url, self.log, self.error, self.dialect)
        self.log.append("stop")
        self.prompts.append([json.loads(json.dumps(r.body["messages"]))[0]["content"] for r in server.received])


def test_a_block_is_a_fresh_process_with_its_own_requests() -> None:
    engine = Engine()
    (measured,) = trial.run(engine.start, "a", [CHAT], replace(UNHURRIED, blocks=3, requests_per_block=2))

    assert engine.log == ["start", "stop"] * 3
    assert [[r.id for r in b.requests] for b in measured.blocks] == [["c0", "c1"], ["c2", "c3"], ["c4", "c5"]]
    assert all(block.fresh_process for block in measured.blocks)
    assert (measured.candidate, measured.traffic, measured.concurrency, measured.void) == ("a", "chat", 1, "")


def test_a_warm_process_is_cut_into_blocks_and_meets_no_prompt_twice() -> None:
    engine = Engine()
    (measured,) = trial.run(engine.start, "a", [CHAT], TrialSettings(blocks=3, fresh=False))

    assert engine.log == ["start", "stop"]
    assert [[r.id for r in b.requests] for b in measured.blocks] == [["c0", "c1"], ["c2", "c3"], ["c4", "c5"]]
    assert engine.prompts[0][-6:] == [f"say {i} now" for i in range(6)]
    assert not set(engine.prompts[0][:-6]) & set(engine.prompts[0][-6:])
    assert [b.startup is not None for b in measured.blocks] == [True, False, False]


def test_warm_up_comes_first_with_prompts_of_its_own_and_is_not_in_the_block() -> None:
    engine = Engine()
    (measured,) = trial.run(engine.start, "a", [CHAT], TrialSettings(blocks=1, warmup_requests=2))
    sent, (block,) = engine.prompts[0], measured.blocks

    assert sorted(sent[1:3]) == ["now 0 say", "now 1 say"]
    assert sorted(sent[3:5]) == ["0 say now", "1 say now"]
    assert sent[-6:] == [f"say {i} now" for i in range(6)]
    assert len(block.requests) == 6
    assert block.warm_up is not None
    assert block.warm_up.requests == len(sent) - 7
    assert block.warm_up.seconds > 0


def test_warm_up_of_a_process_is_told_once() -> None:
    (measured,) = trial.run(Engine().start, "a", [CHAT], TrialSettings(blocks=3, fresh=False))

    assert [block.warm_up is not None for block in measured.blocks] == [True, False, False]


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
    (measured,) = trial.run(Engine(lambda _: answer([1, 2])).start, "a", [CHAT], UNHURRIED)

    assert "forced length" in measured.void
    assert "2 tokens instead of 3" in measured.void


def test_some_failed_requests_are_kept_as_failures() -> None:
    flaky = Engine(lambda r: [] if prompt_of(r) == "say 2 now" else good(r))
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
    measured = {request.messages[0].content for request in traffic.requests}

    async def for_ever() -> None:
        await asyncio.Event().wait()

    engine = Engine(lambda r: [for_ever] if prompt_of(r) in measured else good(r))
    with pytest.raises(EngineHung, match="3 requests in a row"):
        trial.run(engine.start, "a", [traffic], TrialSettings(blocks=1, request_timeout_s=0.4))


def test_a_warm_process_needs_a_request_for_each_block() -> None:
    with pytest.raises(UserError, match="6 requests and 7 blocks"):
        requests_of_block(CHAT, TrialSettings(blocks=7, fresh=False), 0)


def test_fresh_processes_go_round_when_the_traffic_is_used_up() -> None:
    ids = [r.id for r in requests_of_block(CHAT, TrialSettings(requests_per_block=4), 1)]

    assert ids == ["c4", "c5", "c0", "c1"]


@pytest.mark.parametrize(("cache", "times"), [("cold", 1), ("warm", 2), ("shared", 1)])
def test_prompts_are_sent_once_before_only_where_the_cache_is_to_be_warm(cache: str, times: int) -> None:
    engine = Engine()
    (measured,) = trial.run(engine.start, "a", [replace(CHAT, cache=cache)], TrialSettings(blocks=1))
    prompts = engine.prompts[0]

    assert [prompts.count(f"say {i} now") for i in range(6)] == [times] * 6
    assert len(measured.requests()) == 6
    assert measured.cache == cache


def test_what_fills_the_cache_is_one_token_long() -> None:
    lengths: list[object] = []

    def counting(received: Received) -> list[Part]:
        if prompt_of(received) == "say 2 now":
            lengths.append(received.body["max_tokens"])
        return good(received)

    trial.run(Engine(counting).start, "a", [replace(CHAT, cache="warm")], TrialSettings(blocks=1))

    assert lengths == [1, 3]


def test_a_server_that_does_not_take_ignore_eos_is_free_in_its_lengths() -> None:
    engine = Engine(lambda _: answer([1, 2]), dialect=Dialect(ignore_eos=False))
    (measured,) = trial.run(engine.start, "a", [CHAT], UNHURRIED)

    assert measured.void == ""
    assert "lengths were not forced, because the server does not take ignore_eos" in measured.notes
    assert "6 of 6 answers had another length than wanted" in measured.notes


def test_a_refused_request_is_sent_again_only_when_that_was_asked_for() -> None:
    refused: set[object] = set()

    def busy_at_first(received: Received) -> list[Part]:
        prompt = prompt_of(received)
        if prompt == "say 2 now" and prompt not in refused:
            refused.add(prompt)
            return [b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n{}"]
        return good(received)

    (once,) = trial.run(Engine(busy_at_first).start, "a", [CHAT], TrialSettings(blocks=1))
    refused.clear()
    (again,) = trial.run(Engine(busy_at_first).start, "a", [CHAT], TrialSettings(blocks=1, retries=1))

    assert [r.failure for r in once.requests()].count("status_503") == 1
    assert [r.failure for r in again.requests()] == [""] * 6
    assert "1 of 6 requests were sent more than once" in again.notes


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


def test_a_round_that_others_disturbed_is_measured_again_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    real, measured = interleave.run_block, []

    def with_load(start: object, traffics: object, settings: TrialSettings, index: int) -> object:
        blocks = real(start, traffics, settings, index)  # type: ignore[arg-type]
        measured.append(index)
        load = 0.9 if len(measured) == 4 else 0.01
        long = 2 * 10**9
        chat = blocks["chat"]
        slow = tuple(replace(r, finished_ns=r.sent_ns + long) for r in chat.requests)
        return {"chat": replace(chat, requests=slow, background_load=load)}

    monkeypatch.setattr(interleave, "run_block", with_load)
    settings = TrialSettings(blocks=3, requests_per_block=1, rounds_again=2)
    found = interleave.run({"A": Engine().start, "B": Engine().start}, [CHAT], settings)

    assert measured == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [[b.index for b in trials[0].blocks] for trials in found.trials.values()] == [[0, 1, 2, 3]] * 2
