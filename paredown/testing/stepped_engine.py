"""An opened engine whose steps are let through one by one, to watch what its scheduler does between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from paredown.contracts import GenerationRequest, KvCacheUse, ScoreRequest, ScoreResult, StepOutput

WAIT_S = 20.0


@dataclass
class SteppedEngine:
    """Generates token 1, 2, 3 … for each request. `step_through(n)` lets n steps pass and waits until they are done.

    before_step: called in the engine thread before each step; may raise
    kv_cache:    what its sessions say of their cache
    log:         what happened, in order: `add a`, `step a b`, `cancel a`, `score 2`, `close`
    """

    before_step: Callable[[int], None] = lambda _: None
    before_score: Callable[[], None] = lambda: None
    kv_cache: KvCacheUse | None = None
    log: list[str] = field(default_factory=list)
    steps: int = 0
    sessions: int = 0
    _allowed: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _done: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def allow(self, count: int) -> None:
        """Let steps through when they come, without waiting for them."""
        for _ in range(count):
            self._allowed.release()

    def step_through(self, count: int = 1) -> None:
        self.allow(count)
        for _ in range(count):
            assert self._done.acquire(timeout=WAIT_S), "no step was taken"

    def run_freely(self) -> None:
        self.allow(10_000)

    def generation(self) -> SteppedSession:
        self.sessions += 1
        return SteppedSession(self)

    def scoring(self) -> SteppedScoring:
        return SteppedScoring(self)

    def close(self) -> None:
        self.log.append("close engine")

    def pass_step(self, ids: Sequence[str]) -> None:
        assert self._allowed.acquire(timeout=WAIT_S), "the engine was not let through"
        self.steps += 1
        self.log.append(f"step {' '.join(ids)}")
        try:
            self.before_step(self.steps)
        finally:
            self._done.release()


class SteppedSession:
    def __init__(self, engine: SteppedEngine) -> None:
        self._engine, self._made = engine, dict[str, int]()
        self._requests: dict[str, GenerationRequest] = {}

    def add(self, request: GenerationRequest) -> None:
        self._engine.log.append(f"add {request.id}")
        self._requests[request.id] = request
        self._made[request.id] = 0

    def step(self) -> Sequence[StepOutput]:
        self._engine.pass_step(list(self._requests))
        outputs = []
        for request in list(self._requests.values()):
            self._made[request.id] += 1
            made = self._made[request.id]
            is_last = made >= request.max_tokens
            if is_last:
                del self._requests[request.id]
            outputs.append(StepOutput(request.id, (made,), "length" if is_last else ""))
        return outputs

    def cancel(self, request_id: str) -> None:
        self._engine.log.append(f"cancel {request_id}")
        self._requests.pop(request_id, None)

    def kv_cache(self) -> KvCacheUse | None:
        return self._engine.kv_cache

    def close(self) -> None:
        self._engine.log.append("close session")


class SteppedScoring:
    def __init__(self, engine: SteppedEngine) -> None:
        self._engine = engine
        self.computed_tokens = 0

    def score(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]:
        self._engine.before_score()
        self._engine.log.append(f"score {len(requests)}")
        self.computed_tokens += sum(len(request.token_ids) for request in requests)
        return [ScoreResult((0.0,) * (len(request.token_ids) - request.start)) for request in requests]

    def close(self) -> None:
        self._engine.log.append("close scoring")
