"""Drives a generation session by itself, without HTTP, and takes the time of its steps. Standard library only."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from paredown.contracts import GenerationRequest, GenerationSession, StepOutput

Around = Callable[[str], AbstractContextManager[object]]
"""Called with the name of a phase or step (`prefill`, `decode step 3`); the context lasts as long as it does."""

NowNs = Callable[[], int]

SMALLEST_CHUNK = 128
"""Engines that read a prompt in parts may take so many of their steps for it; requests need room for that."""


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds of each prompt length and batch, decode steps of a round, unmeasured steps before."""

    prefill_rounds: int = 5
    batch_rounds: int = 2
    steps: int = 12
    warm_up_steps: int = 3


@dataclass(frozen=True)
class Timed:
    """One phase as it was measured: `tokens` of the prompt (prefill), mean positions in the context (decode).

    times_ns: one for each measured round (prefill) or step (decode)
    kv_bytes_per_token: as the engine counts its cache; None = it does not
    """

    phase: str
    batch: int
    tokens: int
    times_ns: tuple[int, ...]
    kv_bytes_per_token: float | None = None


@dataclass(frozen=True)
class NotTimed:
    """What was not measured and why."""

    what: str
    reason: str


class DoesNotBatch(Exception):
    """The session never computed all requests of the batch in one step."""


@dataclass
class Prompts:
    """Prompts of random token ids, none twice, the same for the same seed."""

    vocabulary: int
    seed: int = 0
    made: int = 0
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - not for secrets

    def request(self, tokens: int, max_tokens: int) -> GenerationRequest:
        self.made += 1
        ids = tuple(self._random.randrange(self.vocabulary) for _ in range(tokens))
        return GenerationRequest(f"profile-{self.made}", ids, max_tokens, ignore_eos=True)


def quiet(name: str) -> AbstractContextManager[object]:
    """No marks around anything."""
    del name
    return nullcontext()


def joined(*marks: Around) -> Around:
    """Several marks around the same thing."""

    @contextmanager
    def around(name: str) -> Iterator[None]:
        with ExitStack() as stack:
            for mark in marks:
                stack.enter_context(mark(name))
            yield

    return around


def time_prefill(
    session: GenerationSession,
    prompts: Prompts,
    tokens: int,
    rounds: int,
    *,
    warm_up_rounds: int = 1,
    around: Around = quiet,
    now_ns: NowNs = time.perf_counter_ns,
) -> Timed:
    """From handing over one prompt to its first token, `rounds` times, after rounds that are not counted."""
    times = []
    for number in range(-warm_up_rounds, rounds):
        request = prompts.request(tokens, 1)
        begun = now_ns()
        with around("prefill") if number >= 0 else nullcontext():
            session.add(request)
            while not any(output.token_ids for output in session.step()):
                pass
        if number >= 0:
            times.append(now_ns() - begun)
    return Timed("prefill", 1, tokens, tuple(times))


def time_batch(
    session: GenerationSession,
    prompts: Prompts,
    tokens: int,
    batch: int,
    effort: Effort,
    *,
    around: Around = quiet,
    now_ns: NowNs = time.perf_counter_ns,
) -> tuple[Timed, Timed]:
    """Prefill of `batch` prompts of `tokens` tokens together, then decode steps of all of them.

    The first round only warms up. Steps count only while every request gets tokens in them. Raises DoesNotBatch.
    """
    prefill: list[int] = []
    decode = _Steps()
    for number in range(-1, effort.batch_rounds):
        counts = number >= 0
        mark = around if counts else quiet
        requests = [prompts.request(tokens, room_for(tokens, batch, effort)) for _ in range(batch)]
        made = dict.fromkeys((request.id for request in requests), 0)
        begun = now_ns()
        with mark("prefill"):
            for request in requests:
                session.add(request)
            while not all(made.values()):
                _count(session.step(), made)
        if counts:
            prefill.append(now_ns() - begun)
        for step in range(-effort.warm_up_steps, effort.steps):
            before = sum(made.values())
            begun = now_ns()
            with mark(f"decode step {step}") if step >= 0 else nullcontext():
                served = _count(session.step(), made)
            if len(served) < batch:
                raise DoesNotBatch(f"only {len(served)} of {batch} requests got a token in one step")
            if counts and step >= 0:
                decode.add(now_ns() - begun, tokens + before / batch)
        if counts:
            decode.kv_bytes_per_token = _kv_bytes_per_token(session)
        for request in requests:
            session.cancel(request.id)
    return Timed("prefill", batch, tokens, tuple(prefill)), decode.timed(batch)


def room_for(tokens: int, batch: int, effort: Effort) -> int:
    """Tokens that a request may need: the steps, and those it gets while the others' prompts are read."""
    return 1 + effort.warm_up_steps + effort.steps + batch * (1 + tokens // SMALLEST_CHUNK)


@dataclass
class _Steps:
    times_ns: list[int] = field(default_factory=list)
    positions: list[float] = field(default_factory=list)
    kv_bytes_per_token: float | None = None

    def add(self, time_ns: int, position: float) -> None:
        self.times_ns.append(time_ns)
        self.positions.append(position)

    def timed(self, batch: int) -> Timed:
        tokens = int(sum(self.positions) / len(self.positions))
        return Timed("decode", batch, tokens, tuple(self.times_ns), self.kv_bytes_per_token)


def _count(outputs: Sequence[StepOutput], made: dict[str, int]) -> set[str]:
    """Ids that got a token. Raises DoesNotBatch when one has ended before all could be measured."""
    served = set()
    for output in outputs:
        if output.id in made and output.token_ids:
            made[output.id] += len(output.token_ids)
            served.add(output.id)
            if output.finish_reason:
                waiting = sum(not count for count in made.values())
                raise DoesNotBatch(f"{waiting} of {len(made)} requests still waited when the first had ended")
    return served


def _kv_bytes_per_token(session: GenerationSession) -> float | None:
    use = session.kv_cache()
    return use.allocated_bytes / use.tokens if use is not None and use.tokens else None
