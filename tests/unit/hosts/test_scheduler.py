from __future__ import annotations

import queue
from collections.abc import Callable, Iterator

import pytest

from paredown.contracts import Batching, GenerationRequest, KvCacheUse, ScoreRequest, StepOutput
from paredown.errors import UserError
from paredown.hosts import scheduler as scheduler_module
from paredown.hosts.failures import Failure
from paredown.hosts.scheduler import Job, Scheduler
from paredown.testing.stepped_engine import WAIT_S, SteppedEngine

Start = Callable[..., Scheduler]


class Listener:
    """What one request heard."""

    def __init__(self, request_id: str, max_tokens: int = 3) -> None:
        self.heard: queue.SimpleQueue[StepOutput | Failure] = queue.SimpleQueue()
        self.times: list[int] = []
        self.job = Job(GenerationRequest(request_id, (1,), max_tokens), self._output, self.heard.put)

    def _output(self, output: StepOutput, at_ns: int) -> None:
        self.times.append(at_ns)
        self.heard.put(output)

    def next(self) -> StepOutput | Failure:
        return self.heard.get(timeout=WAIT_S)

    def all(self, count: int) -> list[int]:
        outputs = [self.next() for _ in range(count)]
        return [token for one in outputs if isinstance(one, StepOutput) for token in one.token_ids]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[tuple[Scheduler, SteppedEngine]] = []

    def make(engine: SteppedEngine, batching: Batching = Batching.CONTINUOUS, max_batch: int = 8) -> Scheduler:
        scheduler = Scheduler(lambda: engine, batching=batching, max_batch=max_batch, on_fatal=lambda error: None)
        scheduler.start()
        scheduler.loaded.result(WAIT_S)
        started.append((scheduler, engine))
        return scheduler

    yield make
    for scheduler, engine in started:
        engine.run_freely()
        scheduler.close()


def test_a_late_request_joins_a_running_continuous_batch(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine)
    first, late = Listener("a"), Listener("b")
    scheduler.submit(first.job)
    engine.step_through()
    first.next()
    scheduler.submit(late.job)
    engine.step_through(2)
    assert "step a b" in engine.log
    assert scheduler.batching_seen == 2


def test_a_static_batch_ends_before_new_requests_start(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine, Batching.STATIC)
    first, late, later = Listener("a"), Listener("b"), Listener("c")
    scheduler.submit(first.job)
    engine.step_through()
    scheduler.submit(late.job)
    scheduler.submit(later.job)
    engine.step_through(2)
    assert first.all(3) == [1, 2, 3]
    engine.step_through()
    late.next()
    assert engine.log == ["add a", "step a", "step a", "step a", "add b", "add c", "step b c"]


def test_without_batching_one_request_at_a_time_is_active(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine, Batching.NONE, max_batch=4)
    listeners = [Listener("a", 2), Listener("b", 2)]
    for listener in listeners:
        scheduler.submit(listener.job)
    engine.step_through(4)
    assert [listener.all(2) for listener in listeners] == [[1, 2], [1, 2]]
    assert scheduler.batching_seen == 1


def test_no_more_than_max_batch_are_active(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine, max_batch=2)
    listeners = [Listener(name, 2) for name in "abc"]
    for listener in listeners:
        scheduler.submit(listener.job)
    engine.step_through(4)
    listeners[2].all(1)
    assert max(len(line.split()) - 1 for line in engine.log if line.startswith("step")) == 2


def test_a_cancelled_request_is_gone_before_the_next_step(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine)
    one, other = Listener("a"), Listener("b")
    scheduler.submit(one.job)
    engine.step_through()
    scheduler.submit(other.job)
    scheduler.cancel("a")
    engine.step_through(2)
    other.next()
    # The step that was running when it was cancelled may end; none with it starts afterwards.
    last_with_it = max(index for index, line in enumerate(engine.log) if line.startswith("step a"))
    assert engine.log.index("cancel a") > last_with_it
    assert "step b" in engine.log


def test_a_waiting_request_can_be_cancelled(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine, Batching.NONE)
    one, other, third = Listener("a", 1), Listener("b", 1), Listener("c", 1)
    for listener in (one, other, third):
        scheduler.submit(listener.job)
    scheduler.cancel("b")
    engine.step_through(2)
    third.next()
    assert "add b" not in engine.log


def test_a_step_that_fails_fails_its_requests_and_the_engine_goes_on(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(step: int) -> None:
        if step == 1:
            raise RuntimeError("kernel fault")

    engine = SteppedEngine(before_step=fail)
    scheduler = start(engine)
    victim, after = Listener("a"), Listener("b", 1)
    scheduler.submit(victim.job)
    engine.step_through()
    failure = victim.next()
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message) == ("other", "RuntimeError: kernel fault")
    assert "kernel fault" in caplog.text
    scheduler.submit(after.job)
    engine.step_through()
    assert after.all(1) == [1]
    assert engine.sessions == 2


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: not enough memory: you tried")])
def test_running_out_of_memory_is_told_from_other_failures(
    start: Start, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(step: int) -> None:
        raise error

    engine = SteppedEngine(before_step=fail)
    scheduler = start(engine)
    victim = Listener("a")
    scheduler.submit(victim.job)
    engine.step_through()
    failure = victim.next()
    assert isinstance(failure, Failure)
    assert failure.kind == "memory"


def test_scoring_waits_for_running_generations_and_holds_back_new_ones(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine)
    one, other = Listener("a", 2), Listener("b", 1)
    scheduler.submit(one.job)
    engine.step_through()
    one.next()
    scored = scheduler.score([ScoreRequest((1, 2), 1)])
    scheduler.submit(other.job)
    engine.step_through(2)
    assert len(scored.result(WAIT_S)) == 1
    other.next()
    assert engine.log == ["add a", "step a", "step a", "score 1", "add b", "step b"]
    assert scheduler.computed_tokens == 2


def test_a_scoring_that_fails_tells_its_caller_only(start: Start) -> None:
    def refuse() -> None:
        raise UserError("too long")

    engine = SteppedEngine(before_score=refuse)
    scheduler = start(engine)
    with pytest.raises(UserError, match="too long"):
        scheduler.score([ScoreRequest((1, 2), 1)]).result(WAIT_S)
    after = Listener("a", 1)
    scheduler.submit(after.job)
    engine.step_through()
    assert after.all(1) == [1]


def test_a_model_that_does_not_load_tells_who_waits_for_it() -> None:
    def refuse() -> SteppedEngine:
        raise OSError("no such file")

    scheduler = Scheduler(refuse, batching=Batching.NONE, max_batch=1, on_fatal=lambda error: None)
    scheduler.start()
    with pytest.raises(OSError, match="no such file"):
        scheduler.loaded.result(WAIT_S)


def test_times_are_taken_when_the_engine_has_the_token(start: Start) -> None:
    engine = SteppedEngine()
    scheduler = start(engine)
    one = Listener("a")
    scheduler.submit(one.job)
    engine.step_through(3)
    one.all(3)
    assert one.times == sorted(one.times)
    assert len(set(one.times)) == 3


def test_closing_closes_sessions_and_engine() -> None:
    engine = SteppedEngine()
    scheduler = Scheduler(lambda: engine, batching=Batching.NONE, max_batch=1, on_fatal=lambda error: None)
    scheduler.start()
    scheduler.score([ScoreRequest((1, 2), 1)]).result(WAIT_S)
    scheduler.close()
    assert engine.log[1:] == ["close session", "close scoring", "close engine"]


def test_the_largest_cache_that_was_seen_is_kept(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "LOOK_AT_CACHE_NS", 0)
    sizes = iter([100, 300, 200])
    engine = SteppedEngine()
    engine.before_step = lambda _: setattr(engine, "kv_cache", KvCacheUse(next(sizes), 7, 1000))
    scheduler = start(engine)
    listener = Listener("a", max_tokens=3)
    scheduler.submit(listener.job)
    engine.step_through(3)
    listener.all(3)
    scheduler.score([]).result(WAIT_S)  # runs after the last step has been looked at

    assert scheduler.largest_cache == KvCacheUse(300, 7, 1000)


def test_the_cache_is_not_asked_for_after_every_step(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "LOOK_AT_CACHE_NS", 10**15)
    engine = SteppedEngine(kv_cache=KvCacheUse(100, 7))
    scheduler = start(engine)
    listener = Listener("a", max_tokens=2)
    scheduler.submit(listener.job)
    engine.step_through()
    listener.next()
    engine.kv_cache = KvCacheUse(900, 7)
    engine.step_through()
    listener.next()
    scheduler.score([]).result(WAIT_S)

    assert scheduler.largest_cache == KvCacheUse(100, 7)
