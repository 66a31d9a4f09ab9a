"""The fake engine: answers, speeds and faults by script, the standard library only. Most tests run on it.

It serves through the same host as every other engine. An artifact is a directory with `fake.json`;
`paredown.testing.fake_models` makes them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.contracts import (
    Batching,
    Engine,
    GenerationRequest,
    KvCacheUse,
    OpenContext,
    Option,
    ScoreRequest,
    ScoreResult,
    ScoringLevel,
    ServedBy,
    StepOutput,
)
from paredown.errors import UserError
from paredown.hosts.logit_rows import common_prefix
from paredown.records.artifact import Artifact
from paredown.records.figure import Options
from paredown.records.machine import Machine
from paredown.testing.fake_language import END, VOCABULARY, FakeScript, Language, Reader, read_script

OPTIONS = (Option("slowdown", 1.0, "every time of the script is multiplied by this"),)
A_DAY_S = 86_400.0


def resolve(artifact: Artifact | None, machine: Machine, wanted: Options) -> Options:  # noqa: ARG001  the interface
    unknown = sorted(set(wanted) - {option.name for option in OPTIONS})
    if unknown:
        raise UserError(f"The fake engine has no option {unknown[0]!r}. It has: slowdown.")
    return {option.name: wanted.get(option.name, option.default) for option in OPTIONS}


class ScriptClock:
    """Spends time as the script says: by sleeping, or by counting when the clock is scripted."""

    def __init__(self, script: FakeScript, slowdown: float) -> None:
        self._is_scripted, self._slowdown, self._now_ns = script.scripted_clock, slowdown, 0

    def spend(self, duration_ns: int) -> None:
        duration = round(duration_ns * self._slowdown)
        self._now_ns += duration
        if duration and not self._is_scripted:
            time.sleep(duration / 1e9)

    def stamp_ns(self) -> int | None:
        """Time of the script; None when the real clock counts."""
        return self._now_ns if self._is_scripted else None


def open_engine(context: OpenContext) -> OpenedFake:
    script = read_script(context.artifacts["main"])
    faults = script.faults
    if faults.oom_on_load:
        raise MemoryError("the script says that there is not enough memory")
    if faults.fail_on_load:
        raise RuntimeError(faults.fail_on_load)
    if faults.die_on_load:
        _die()
    if faults.hang_on_load:
        time.sleep(A_DAY_S)
    clock = ScriptClock(script, float(context.options.get("slowdown") or 1.0))
    clock.spend(script.speeds.load_ns)
    return OpenedFake(Language(script), clock)


class OpenedFake:
    def __init__(self, language: Language, clock: ScriptClock) -> None:
        self._language, self._clock = language, clock

    def generation(self) -> FakeGeneration:
        return FakeGeneration(self._language, self._clock)

    def scoring(self) -> FakeScoring:
        return FakeScoring(self._language, self._clock)

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class _Active:
    request: GenerationRequest
    reader: Reader | None = None
    made: int = 0

    @property
    def room(self) -> int:
        """Positions that prompt and whole answer take."""
        return len(self.request.prompt_ids) + self.request.max_tokens


class FakeGeneration:
    """Every active request that the cache has room for gets one token a step."""

    def __init__(self, language: Language, clock: ScriptClock) -> None:
        self._language, self._script, self._clock = language, language.script, clock
        self._active: dict[str, _Active] = {}
        self._made = 0
        self._read_before: list[tuple[int, ...]] = []

    def add(self, request: GenerationRequest) -> None:
        if not all(0 <= token < VOCABULARY for token in request.prompt_ids):
            raise UserError(f"A prompt token is not in the vocabulary of {VOCABULARY}.")
        active = _Active(request)
        capacity = self._script.cache.capacity_tokens
        if capacity is not None and active.room > capacity:
            raise MemoryError(f"the script has a cache of {capacity} positions and {active.room} are needed")
        self._active[request.id] = active

    def step(self) -> Sequence[StepOutput]:
        served = self._served()
        for active in served:
            self._check_faults()
            if active.reader is None:
                active.reader = self._language.reader(active.request.prompt_ids)
                self._clock.spend(self._script.speeds.prefill_ns_per_token * self._tokens_to_read(active))
        speeds = self._script.speeds
        further = max(0, len(served) - 1)
        self._clock.spend(speeds.decode_ns_per_step + further * speeds.decode_ns_per_further_request)
        return [self._next(active) for active in served]

    def _served(self) -> list[_Active]:
        """The oldest requests, as many as the script lets in."""
        script = self._script
        waiting = list(self._active.values())[: 1 if script.faults.one_at_a_time else None]
        if script.cache.capacity_tokens is None:
            return waiting
        served, free = [], script.cache.capacity_tokens
        for active in waiting:
            free -= active.room
            if free >= 0:
                served.append(active)
            elif script.cache.fails_when_full:
                raise MemoryError("the script says that the cache is full")
            else:
                break
        return served

    def _tokens_to_read(self, active: _Active) -> int:
        prompt = active.request.prompt_ids
        if not self._script.cache.keeps_prefixes:
            return len(prompt)
        kept = max((common_prefix(prompt, before) for before in self._read_before), default=0)
        self._read_before.append(prompt)
        return len(prompt) - kept

    def kv_cache(self) -> KvCacheUse:
        read = [active for active in self._active.values() if active.reader is not None]
        tokens = sum(len(active.request.prompt_ids) + active.made for active in read)
        cache = self._script.cache
        return KvCacheUse(cache.bytes_per_token * tokens, tokens, cache.capacity_tokens)

    def _next(self, active: _Active) -> StepOutput:
        request, reader = active.request, active.reader
        assert reader is not None
        token = reader.next().top
        if self._script.faults.wrong_tokens and token != END:
            token = (token + 1) % 256
        reader.read(token)
        active.made += 1
        self._made += 1
        reason = ""
        if self._ends(request, token):
            reason = "stop"
        elif active.made >= request.max_tokens:
            reason = "length"
        if reason:
            del self._active[request.id]
        return StepOutput(request.id, (token,), reason, at_ns=self._clock.stamp_ns())

    def _ends(self, request: GenerationRequest, token: int) -> bool:
        if request.ignore_eos and not self._script.faults.ignores_forced_length:
            return False
        return token in request.stop_ids or (request.ignore_eos and token == END)

    def _check_faults(self) -> None:
        faults = self._script.faults
        if _reached(faults.die_after_tokens, self._made):
            _die()
        if _reached(faults.hang_after_tokens, self._made):
            time.sleep(A_DAY_S)
        if _reached(faults.oom_after_tokens, self._made):
            raise MemoryError("the script says that memory ran out")
        if _reached(faults.fail_after_tokens, self._made):
            raise RuntimeError("the script says that this step fails")

    def cancel(self, request_id: str) -> None:
        self._active.pop(request_id, None)

    def close(self) -> None:
        self._active.clear()


class FakeScoring:
    """Log-probabilities of the scripted model. A prefix shared with the sequence before is counted once."""

    def __init__(self, language: Language, clock: ScriptClock) -> None:
        self._language, self._clock = language, clock
        self._held: tuple[int, ...] = ()
        self.computed_tokens = 0

    def score(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]:
        faults = self._language.script.faults
        if faults.die_in_scoring:
            _die()
        if faults.hang_in_scoring:
            time.sleep(A_DAY_S)
        if faults.oom_in_scoring:
            raise MemoryError("the script says that memory ran out")
        return [self._score(request) for request in requests]

    def _score(self, request: ScoreRequest) -> ScoreResult:
        self._count(request.token_ids[:-1])
        reader = self._language.reader(request.token_ids[: request.start])
        target, top_ids, top, at = [], [], [], []
        for row, token in enumerate(request.token_ids[request.start :]):
            peaked = reader.next()
            target.append(peaked.logprob(token))
            if request.top_k:
                best = peaked.largest(request.top_k)
                top_ids.append(best)
                top.append(tuple(peaked.logprob(one) for one in best))
            if request.at_ids:
                at.append(tuple(peaked.logprob(one) for one in request.at_ids[row]))
            reader.read(token)
        return ScoreResult(tuple(target), tuple(top_ids), tuple(top), tuple(at))

    def _count(self, tokens: tuple[int, ...]) -> None:
        shared = common_prefix(tokens, self._held)
        self._held = tokens
        self.computed_tokens += len(tokens) - shared
        self._clock.spend(self._language.script.speeds.scoring_ns_per_token * (len(tokens) - shared))

    def close(self) -> None:
        self._held = ()


def _reached(limit: int | None, made: int) -> bool:
    return limit is not None and made >= limit


def _die() -> None:
    """As the kernel would do it: no message, no clean-up."""
    os.kill(os.getpid(), signal.SIGKILL)


ENGINE = Engine(
    name="fake",
    summary="answers, speeds and faults by script; for tests and for trying the loop without a model",
    opens=("fake",),
    served_by=ServedBy.HOST,
    batching=Batching.CONTINUOUS,
    scoring=ScoringLevel.FULL,
    resolve=resolve,
    open=open_engine,
    options=OPTIONS,
    max_batch=32,
    baseline=True,
)
