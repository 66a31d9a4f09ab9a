"""Steps are timed only while they are what they claim to be: all requests together, after the warm-up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from paredown.contracts import GenerationRequest, KvCacheUse, StepOutput
from paredown.profile.driving import DoesNotBatch, Effort, Prompts, joined, room_for, time_batch, time_prefill

EFFORT = Effort(prefill_rounds=2, batch_rounds=2, steps=3, warm_up_steps=1)


@dataclass
class Session:
    """Reads one prompt a step (1000 ns a prompt token), else decodes `together` requests (70 ns, the first steps of a
    session 500 ns) of those that are active. Its clock moves only with its own work.
    """

    together: int = 100
    now: int = 0
    steps: int = 0
    active: dict[str, GenerationRequest] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)

    def add(self, request: GenerationRequest) -> None:
        self.active[request.id] = request

    def step(self) -> Sequence[StepOutput]:
        self.steps += 1
        new = next((name for name in self.active if name not in self.made), None)
        if new is not None:
            self.now += 1000 * len(self.active[new].prompt_ids)
            return [self.output(new)]
        self.now += 500 if self.steps < 6 else 70
        return [self.output(name) for name in list(self.active)[: self.together]]

    def output(self, name: str) -> StepOutput:
        self.made[name] = self.made.get(name, 0) + 1
        ended = self.made[name] >= self.active[name].max_tokens
        if ended:
            del self.active[name]
        return StepOutput(name, (1,), "length" if ended else "")

    def cancel(self, request_id: str) -> None:
        self.active.pop(request_id, None)

    def kv_cache(self) -> KvCacheUse:
        tokens = sum(len(r.prompt_ids) + self.made[r.id] for r in self.active.values())
        return KvCacheUse(24 * tokens, tokens)

    def close(self) -> None:
        self.active.clear()

    def now_ns(self) -> int:
        return self.now


def test_prefill_lasts_from_the_request_to_its_first_token() -> None:
    session = Session()
    found = time_prefill(session, Prompts(50), 7, 3, now_ns=session.now_ns)

    assert (found.phase, found.batch, found.tokens, found.times_ns) == ("prefill", 1, 7, (7000,) * 3)
    assert session.steps == 4, "one round more, to warm up"


def test_a_batch_shows_its_prefill_and_steps_of_all_its_requests() -> None:
    session = Session()
    prefill, decode = time_batch(session, Prompts(50), 10, 3, EFFORT, now_ns=session.now_ns)

    assert prefill.times_ns == (30_000, 30_000)
    assert decode.times_ns == (70,) * 6, "three steps of two rounds, none of the warm-up's"
    # 10 prompt tokens; 2, 3, 4 tokens made before the three steps
    assert (decode.batch, decode.tokens) == (3, 13)
    assert decode.kv_bytes_per_token == 24
    assert not session.active, "nothing is left running"


def test_a_session_that_computes_one_at_a_time_is_no_batch() -> None:
    session = Session(together=1)

    with pytest.raises(DoesNotBatch, match="only 1 of 2 requests got a token in one step"):
        time_batch(session, Prompts(50), 10, 2, EFFORT, now_ns=session.now_ns)


def test_a_session_that_ends_one_before_it_begins_the_next_is_no_batch() -> None:
    class OneByOne(Session):
        def step(self) -> Sequence[StepOutput]:
            return [self.output(next(iter(self.active)))]

    with pytest.raises(DoesNotBatch, match="2 of 3 requests still waited"):
        time_batch(OneByOne(), Prompts(50), 10, 3, EFFORT)


def test_requests_have_room_for_what_they_get_while_others_are_read() -> None:
    # 1 + 1 + 3 steps, and 4 prompts of 300 tokens in at most 3 parts each
    assert room_for(300, 4, EFFORT) == 5 + 12


def test_steps_have_names_and_the_warm_up_has_none() -> None:
    names: list[str] = []

    @contextmanager
    def around(name: str) -> Iterator[None]:
        names.append(name)
        yield

    session = Session()
    time_batch(session, Prompts(50), 10, 2, EFFORT, around=joined(around, around), now_ns=session.now_ns)

    one_round = ["prefill", "decode step 0", "decode step 1", "decode step 2"]
    assert names == [name for name in one_round * 2 for _ in range(2)]


def test_prompts_are_of_the_vocabulary_all_different_and_the_same_for_a_seed() -> None:
    first, second, other = Prompts(50, seed=1), Prompts(50, seed=1), Prompts(50, seed=2)
    made = [first.request(40, 5) for _ in range(3)]

    assert len({request.prompt_ids for request in made}) == len({request.id for request in made}) == 3
    assert made == [second.request(40, 5) for _ in range(3)]
    assert made[0].prompt_ids != other.request(40, 5).prompt_ids
    assert all(0 <= token < 50 for request in made for token in request.prompt_ids)
    assert max(max(request.prompt_ids) for request in made) > 40
    assert made[0].ignore_eos
