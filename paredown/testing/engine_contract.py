"""What every engine must do when it is served: checks of a started one, for the engines here and for those to come.

Each check takes a `Subject` and raises AssertionError. Time is compared only between stamps of one clock.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paredown.contracts import Batching, Engine, ScoreRequest, ScoringLevel
from paredown.hosts.running import RunningEngine
from paredown.records.traffic import Message

QUESTIONS = (
    "What is the capital of France?",
    "Write one sentence about the sea.",
    "Say good morning in Spanish, French and Japanese.",
    "Name three animals and an emoji for each of them.",
    "How many days are in a week?",
)
TIED_NATS = 0.25
"""Two tokens closer than this count as tied: bfloat16 logits between 16 and 32 are 0.125 apart, and two differ."""

SAME_NATS = 0.05
"""Mean difference of log-probabilities of the same tokens, computed in another way."""

LONG_TOKENS = 300
WAIT_S = 300.0


@dataclass(frozen=True)
class Subject:
    """A started engine and its declared facts."""

    engine: Engine
    running: RunningEngine


@dataclass(frozen=True)
class Chunk:
    """One chunk of a stream; times are monotonic, in ns."""

    arrived_ns: int
    engine_ns: int
    ids: tuple[int, ...]
    text: str
    finish_reason: str | None
    usage: Mapping[str, int] | None


def request(
    running: RunningEngine, path: str, body: Mapping[str, Any] | None = None, *, key: str | None = None
) -> http.client.HTTPResponse:
    """The response of one request on a connection of its own; closing the response closes the connection."""
    address = urllib.parse.urlsplit(running.url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=WAIT_S)
    headers = {"Authorization": f"Bearer {running.api_key if key is None else key}", "Connection": "close"}
    data = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, body=data, headers=headers)
    return connection.getresponse()


def post(running: RunningEngine, path: str, body: Mapping[str, Any]) -> Any:
    with request(running, path, body) as response:
        return json.loads(response.read())


def stream(running: RunningEngine, question: str, max_tokens: int, *, forced: bool = True) -> Iterator[Chunk]:
    """Chunks as they arrive. Closing the iterator closes the connection, as a client does that goes away."""
    body = {
        "model": running.model_name,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": max_tokens,
        "stream": True,
        "ignore_eos": forced,
        "return_token_ids": True,
        "stream_options": {"include_usage": True},
    }
    with request(running, "/v1/chat/completions", body) as response:
        assert response.status == 200, response.read()
        while line := response.readline():
            arrived_ns = time.monotonic_ns()
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            assert "error" not in event, event
            (choice,) = event["choices"]
            yield Chunk(
                arrived_ns,
                event["paredown"]["engine_ns"],
                tuple(choice["token_ids"]),
                choice["delta"]["content"],
                choice["finish_reason"],
                event.get("usage"),
            )


def generated(running: RunningEngine, question: str, max_tokens: int, *, forced: bool = True) -> list[Chunk]:
    return list(stream(running, question, max_tokens, forced=forced))


def ids_of(chunks: Sequence[Chunk]) -> tuple[int, ...]:
    return tuple(token for chunk in chunks for token in chunk.ids)


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Run the calls at the same time; the first exception is raised."""
    failures: list[BaseException] = []

    def guarded(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  raised again below, in the caller's thread
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# ── serving ──────────────────────────────────────────────────────────────────────────────────────────────────────


def first_chunk_leaves_before_the_second_token_is_computed(subject: Subject) -> None:
    """Once is enough: a host that holds the first chunk back never does it, a busy machine only sometimes."""
    for _ in range(10):
        first, second = generated(subject.running, QUESTIONS[0], 2)
        if first.arrived_ns < second.engine_ns:
            return
    raise AssertionError("in none of 10 streams the first chunk arrived before the engine had the second token")


def disconnecting_stops_generation(subject: Subject) -> None:
    with subject.running.scoring() as client:
        before = client.info().generated_tokens
        chunks = stream(subject.running, QUESTIONS[1], LONG_TOKENS)
        next(chunks)
        next(chunks)
        chunks.close()  # type: ignore[attr-defined]  # it is a generator
        # Scoring waits until no generation is active: this one has ended then, or was cancelled.
        client.score([ScoreRequest(client.encode_texts(["the end"])[0], 1)])
        assert client.info().generated_tokens - before < LONG_TOKENS / 2


def forced_lengths_are_obeyed(subject: Subject) -> None:
    chunks = generated(subject.running, QUESTIONS[0], 60)
    assert len(ids_of(chunks)) == 60
    assert chunks[-1].finish_reason == "length"


def usage_counts_the_ids(subject: Subject) -> None:
    for forced in (True, False):
        chunks = generated(subject.running, QUESTIONS[0], 24, forced=forced)
        usage = chunks[-1].usage
        assert usage is not None
        assert usage["completion_tokens"] == len(ids_of(chunks))
        asked = {"messages": [{"role": "user", "content": QUESTIONS[0]}]}
        assert usage["prompt_tokens"] == post(subject.running, "/tokenize", asked)["count"]


def a_token_that_ends_the_answer_is_among_the_ids(subject: Subject) -> None:
    with subject.running.scoring() as client:
        stop_ids = client.info().stop_ids
    for question in QUESTIONS:
        chunks = generated(subject.running, question, 64, forced=False)
        ended = ids_of(chunks)[-1] in stop_ids
        assert ended == (chunks[-1].finish_reason == "stop")
        assert not set(ids_of(chunks)[:-1]) & set(stop_ids)


def the_text_of_the_chunks_is_the_text_of_the_ids(subject: Subject) -> None:
    with subject.running.scoring() as client:
        for question in QUESTIONS[2:4]:
            chunks = generated(subject.running, question, 48)
            assert "".join(chunk.text for chunk in chunks) == client.decode([ids_of(chunks)])[0]


def two_generations_are_equal(subject: Subject) -> None:
    one, other = (ids_of(generated(subject.running, QUESTIONS[1], 32)) for _ in range(2))
    assert one == other


def chat_and_completions_of_its_ids_are_equal(subject: Subject) -> None:
    asked = {"messages": [{"role": "user", "content": QUESTIONS[0]}]}
    prompt = post(subject.running, "/tokenize", asked)["tokens"]
    body = {"prompt": prompt, "max_tokens": 12, "ignore_eos": True, "return_token_ids": True}
    answer = post(subject.running, "/v1/completions", body)
    assert tuple(answer["choices"][0]["token_ids"]) == ids_of(generated(subject.running, QUESTIONS[0], 12))


def tokenize_is_the_encoding_of_scoring(subject: Subject) -> None:
    conversation = [Message("system", "Be brief."), Message("user", "naïve 😀\n\n日本")]
    messages = [message.plain for message in conversation]
    with subject.running.scoring() as client:
        encoded = client.encode([conversation])[0]
        text = client.encode_texts(["naïve 😀"])[0]
    assert tuple(post(subject.running, "/tokenize", {"messages": messages})["tokens"]) == encoded
    plain = {"prompt": "naïve 😀", "add_special_tokens": False}
    assert tuple(post(subject.running, "/tokenize", plain)["tokens"]) == text


def a_key_is_required(subject: Subject) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
    with request(subject.running, "/v1/chat/completions", body, key="wrong") as response:
        assert response.status == 401
    with request(subject.running, "/health", key="wrong") as response:
        assert response.status == 200


def a_prompt_beyond_the_context_is_refused_and_the_engine_goes_on(subject: Subject) -> None:
    with subject.running.scoring() as client:
        limit = client.info().context_length
    if limit:
        with request(subject.running, "/v1/completions", {"prompt": [1] * limit, "max_tokens": 1}) as response:
            assert response.status == 400
    assert len(ids_of(generated(subject.running, QUESTIONS[0], 3))) == 3


# ── batching ─────────────────────────────────────────────────────────────────────────────────────────────────────


def declared_batching_is_seen(subject: Subject) -> None:
    at_once([functools.partial(generated, subject.running, question, 40) for question in QUESTIONS])
    with subject.running.scoring() as client:
        seen = client.info().batching_seen
    if subject.engine.batching is Batching.NONE:
        assert seen == 1
    else:
        assert 2 <= seen <= subject.engine.max_batch


def a_late_request_joins_only_a_continuous_batch(subject: Subject) -> None:
    early = stream(subject.running, QUESTIONS[1], LONG_TOKENS // 3)
    chunks = [next(early)]
    ended: list[Chunk] = []
    late = threading.Thread(target=lambda: ended.extend(generated(subject.running, QUESTIONS[0], 3)))
    late.start()
    chunks += early
    late.join()
    joined = ended[0].engine_ns < chunks[-1].engine_ns
    assert joined == (subject.engine.batching is Batching.CONTINUOUS)


def a_batched_answer_is_the_single_answer(subject: Subject) -> None:
    """Up to the first near tie, at which a batch may fall the other way."""
    single = [ids_of(generated(subject.running, question, 24)) for question in QUESTIONS]
    batched: list[tuple[int, ...]] = [()] * len(QUESTIONS)

    def ask(place: int) -> None:
        batched[place] = ids_of(generated(subject.running, QUESTIONS[place], 24))

    at_once([functools.partial(ask, place) for place in range(len(QUESTIONS))])
    with subject.running.scoring() as client:
        for question, one, other in zip(QUESTIONS, single, batched, strict=True):
            differs = next((at for at in range(24) if one[at] != other[at]), None)
            if differs is not None:
                prompt = client.encode([[Message("user", question)]])[0]
                (row,) = client.score([ScoreRequest((*prompt, *one[: differs + 1]), len(prompt) + differs, 2)])
                gap = row.top_logprobs[0][0] - row.top_logprobs[0][1]
                assert gap <= TIED_NATS, f"{question!r} differs at token {differs}, which leads by {gap:.3f}"


# ── scoring ──────────────────────────────────────────────────────────────────────────────────────────────────────


def scoring_agrees_with_serving(subject: Subject) -> None:
    """The likeliest token is the served one at 99 % of positions that are not tied."""
    same = untied = 0
    with subject.running.scoring() as client:
        for question in QUESTIONS:
            prompt = client.encode([[Message("user", question)]])[0]
            answer = ids_of(generated(subject.running, question, 40))
            (result,) = client.score([ScoreRequest((*prompt, *answer), len(prompt), 2)])
            for token, ids, logprobs in zip(answer, result.top_ids, result.top_logprobs, strict=True):
                if logprobs[0] - logprobs[1] >= TIED_NATS:
                    untied += 1
                    same += ids[0] == token
    assert untied >= 100
    assert same >= 0.99 * untied, f"{same} of {untied}"


def shared_prefixes_change_no_score(subject: Subject) -> None:
    requests = _sharing(subject.running)
    with subject.running.scoring() as client:
        before = client.computed_tokens
        together = client.score(requests)
        shared_cost = client.computed_tokens - before
        alone = [client.score([request])[0] for request in reversed(requests)]
    differences = [
        abs(one - other)
        for ours, single in zip(together, reversed(alone), strict=True)
        for one, other in zip(ours.target_logprobs, single.target_logprobs, strict=True)
    ]
    assert sum(differences) / len(differences) < SAME_NATS
    unshared_cost = sum(len(request.token_ids) - 1 for request in requests)
    assert shared_cost <= 0.6 * unshared_cost, f"{shared_cost} tokens computed of {unshared_cost}"


def _sharing(running: RunningEngine) -> list[ScoreRequest]:
    document = " ".join(f"On day {day} the boat left at {day % 12 + 1} o'clock." for day in range(1, 30))
    with running.scoring() as client:
        prompts = client.encode([[Message("user", f"{document} Question {n}: when?")] for n in range(3)])
        choices = client.encode_texts([" At one o'clock.", " At noon.", " Never."])
    requests = [ScoreRequest((*prompt, *choice), len(prompt)) for prompt in prompts for choice in choices]
    return sorted(requests, key=lambda one: one.token_ids)


def scores_are_consistent_with_each_other(subject: Subject) -> None:
    """Each log-probability is the same figure whichever way it is asked for, and a distribution sums to one at most."""
    with subject.running.scoring() as client:
        ids = client.encode_texts(["The quick brown fox jumps over the lazy dog."])[0]
        top = client.score([ScoreRequest(ids, 1, top_k=8)])[0]
        named = client.score([ScoreRequest(ids, 1, at_ids=top.top_ids)])[0]
    assert len(top.target_logprobs) == len(top.top_ids) == len(ids) - 1
    for place, (best, values) in enumerate(zip(top.top_ids, top.top_logprobs, strict=True)):
        assert len(set(best)) == 8
        assert list(values) == sorted(values, reverse=True)
        assert max(values) <= 0.001
        assert all(abs(one - other) < TIED_NATS for one, other in zip(values, named.at_logprobs[place], strict=True))
        if ids[place + 1] in best:
            assert abs(values[best.index(ids[place + 1])] - top.target_logprobs[place]) < 0.001


SERVING = (
    first_chunk_leaves_before_the_second_token_is_computed,
    forced_lengths_are_obeyed,
    usage_counts_the_ids,
    a_token_that_ends_the_answer_is_among_the_ids,
    the_text_of_the_chunks_is_the_text_of_the_ids,
    two_generations_are_equal,
    chat_and_completions_of_its_ids_are_equal,
    tokenize_is_the_encoding_of_scoring,
    a_key_is_required,
    a_prompt_beyond_the_context_is_refused_and_the_engine_goes_on,
    declared_batching_is_seen,
    a_late_request_joins_only_a_continuous_batch,
)
SCORING = (
    disconnecting_stops_generation,
    a_batched_answer_is_the_single_answer,
    scoring_agrees_with_serving,
    shared_prefixes_change_no_score,
    scores_are_consistent_with_each_other,
)
CHECKS: tuple[Callable[[Subject], None], ...] = (*SERVING, *SCORING)


def checks_for(engine: Engine) -> tuple[Callable[[Subject], None], ...]:
    """Checks that apply to an engine: those of scoring need every log-probability."""
    return CHECKS if engine.scoring is ScoringLevel.FULL else SERVING


@contextlib.contextmanager
def broken(check: Callable[[Subject], None]) -> Iterator[None]:
    """For tests of the checks themselves: inside, `check` must fail."""
    try:
        yield
    except AssertionError:
        return
    raise AssertionError(f"{check.__name__} did not notice the fault")
