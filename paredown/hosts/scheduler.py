"""The engine thread: loads the model, then generates and scores, one after the other, never both at once."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from paredown.contracts import (
    Batching,
    GenerationRequest,
    GenerationSession,
    KvCacheUse,
    OpenedEngine,
    ScoreRequest,
    ScoreResult,
    ScoringSession,
    StepOutput,
)
from paredown.errors import EngineError
from paredown.hosts import failures
from paredown.hosts.failures import Failure

log = logging.getLogger(__name__)

LOOK_AT_CACHE_NS = 50_000_000
"""Asking an engine for its cache may cost a millisecond: not after every step."""


@dataclass(frozen=True)
class Job:
    """A generation and who hears of it, both called in the engine thread.

    on_output:  an output of one step and the time (monotonic, ns) at which the engine had it
    on_failure: nothing comes after it
    """

    request: GenerationRequest
    on_output: Callable[[StepOutput, int], None]
    on_failure: Callable[[Failure], None]


@dataclass(frozen=True)
class _Score:
    requests: Sequence[ScoreRequest]
    result: Future[Sequence[ScoreResult]]


@dataclass(frozen=True)
class _Cancel:
    request_id: str


@dataclass(frozen=True)
class _Close:
    pass


class Scheduler:
    """One engine thread over one opened engine.

    Requests wait in order of arrival. At most `max_batch` are active; with STATIC batching new ones wait until all
    active ones have ended. A scoring job runs when nothing is active, and nothing is admitted while one waits.

    open_engine: called in the engine thread, because libraries keep settings (threads) for the thread that made them
    on_fatal:    called in the engine thread when the engine cannot go on
    """

    def __init__(
        self,
        open_engine: Callable[[], OpenedEngine],
        *,
        batching: Batching,
        max_batch: int,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._open_engine, self._on_fatal = open_engine, on_fatal
        self._batching = batching
        self._limit = 1 if batching is Batching.NONE else max_batch
        self._commands: queue.SimpleQueue[Job | _Score | _Cancel | _Close] = queue.SimpleQueue()
        self._active: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._scores: deque[_Score] = deque()
        self._closing = False
        self._scoring: ScoringSession | None = None
        self.batching_seen = 0
        self.generated_tokens = 0
        self.largest_cache: KvCacheUse | None = None
        self._looked_at_cache_ns: int | None = None
        self.loaded: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Start loading; `loaded` gets the result or the exception."""
        self._thread.start()

    def submit(self, job: Job) -> None:
        self._commands.put(job)

    def cancel(self, request_id: str) -> None:
        """Stop a request before the next step; its `Job` hears nothing more. Unknown or ended ids are ignored."""
        self._commands.put(_Cancel(request_id))

    def score(self, requests: Sequence[ScoreRequest]) -> Future[Sequence[ScoreResult]]:
        future: Future[Sequence[ScoreResult]] = Future()
        self._commands.put(_Score(requests, future))
        return future

    @property
    def computed_tokens(self) -> int:
        return self._scoring.computed_tokens if self._scoring is not None else 0

    def close(self) -> None:
        """End the thread after the step that is running."""
        self._commands.put(_Close())
        self._thread.join()

    # ── engine thread ──

    def _run(self) -> None:
        try:
            opened = self._open_engine()
            session = opened.generation()
        except BaseException as error:  # noqa: BLE001  edge of the thread: whoever waits for `loaded` gets it
            self.loaded.set_exception(error)
            return
        self.loaded.set_result(None)
        try:
            while not self._closing:
                session = self._turn(opened, session)
            session.close()
            if self._scoring is not None:
                self._scoring.close()
            opened.close()
        except BaseException as error:
            log.exception("The engine cannot go on.")
            self._fail_all(failures.of_request(error))
            self._on_fatal(error)

    def _turn(self, opened: OpenedEngine, session: GenerationSession) -> GenerationSession:
        self._take_commands(session)
        self._admit(session)
        if self._active:
            try:
                self._step(session)
            except Exception as error:
                log.exception("A step failed; %d requests end with it.", len(self._active))
                self._fail(self._active.values(), failures.of_request(error))
                self._active.clear()
                session.close()
                return opened.generation()
        elif self._scores:
            self._score_one(opened, self._scores.popleft())
        return session

    def _take_commands(self, session: GenerationSession) -> None:
        idle = not (self._active or self._waiting or self._scores)
        while idle or not self._commands.empty():
            self._take(self._commands.get(), session)
            idle = False

    def _take(self, command: Job | _Score | _Cancel | _Close, session: GenerationSession) -> None:
        match command:
            case Job():
                self._waiting.append(command)
            case _Score():
                self._scores.append(command)
            case _Cancel(request_id):
                if self._active.pop(request_id, None) is not None:
                    session.cancel(request_id)
                self._waiting = deque(job for job in self._waiting if job.request.id != request_id)
            case _Close():
                self._closing = True

    def _admit(self, session: GenerationSession) -> None:
        if self._scores or (self._batching is Batching.STATIC and self._active):
            return
        while self._waiting and len(self._active) < self._limit:
            job = self._waiting.popleft()
            try:
                session.add(job.request)
            except Exception as error:  # noqa: BLE001  one request's failure is that request's answer
                job.on_failure(failures.of_request(error))
            else:
                self._active[job.request.id] = job

    def _step(self, session: GenerationSession) -> None:
        outputs = session.step()
        now_ns = time.monotonic_ns()
        self.batching_seen = max(self.batching_seen, sum(1 for output in outputs if output.token_ids))
        self.generated_tokens += sum(len(output.token_ids) for output in outputs)
        for output in outputs:
            job = self._active.get(output.id)
            if job is None:
                continue
            if output.finish_reason:
                del self._active[output.id]
            job.on_output(output, now_ns if output.at_ns is None else output.at_ns)
        if self._looked_at_cache_ns is None or now_ns - self._looked_at_cache_ns >= LOOK_AT_CACHE_NS:
            self._looked_at_cache_ns = now_ns
            self._look_at_cache(session)

    def _look_at_cache(self, session: GenerationSession) -> None:
        """Keep the largest that was seen. It comes after the outputs have left, so that no token waits for it."""
        use, largest = session.kv_cache(), self.largest_cache
        if use is not None and (largest is None or use.allocated_bytes > largest.allocated_bytes):
            self.largest_cache = use

    def _score_one(self, opened: OpenedEngine, score: _Score) -> None:
        try:
            if self._scoring is None:
                self._scoring = opened.scoring()
            if self._scoring is None:
                raise EngineError("This engine gives no log-probabilities.")  # noqa: TRY301  answered like the others
            score.result.set_result(self._scoring.score(score.requests))
        except Exception as error:  # noqa: BLE001  the caller gets it
            score.result.set_exception(error)

    def _fail(self, jobs: Iterable[Job], failure: Failure) -> None:
        for job in jobs:
            job.on_failure(failure)

    def _fail_all(self, failure: Failure) -> None:
        self._fail([*self._active.values(), *self._waiting], failure)
        for score in self._scores:
            score.result.set_exception(EngineError(failure.message))
