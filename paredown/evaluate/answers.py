"""One candidate's answers and scores on golden items, through the path that is served.

Likelihood items go to the scoring session: the conversation is rendered by the artifact's own chat template, the
tokens of each choice follow directly, and requests are sorted by token ids over large batches, so that a shared prefix
is computed once. All other items are generated, greedily and to a natural end, over HTTP.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from paredown import registry
from paredown.client import streaming
from paredown.contracts import Scorer, ScoreRequest, ScoreResult, ScoringLevel
from paredown.evaluate import generation, scoring
from paredown.evaluate.generation import Complete
from paredown.hosts import scoring_client
from paredown.hosts.running import RunningEngine
from paredown.hosts.scoring_client import ScoringClient
from paredown.records.events import RequestEvents
from paredown.records.golden import Answer, Evaluation, GoldenItem
from paredown.records.traffic import TrafficRequest

OnBatch = Callable[[tuple[Answer, ...]], None]


@dataclass(frozen=True)
class BatchPolicy:
    """How items are put together. The A/A control of quality changes all of it: a deterministic repeat proves nothing.

    batch_items: items between two calls of `on_batch`, which is also what a kill can cost
    concurrency: generations in flight at once
    reverse:     items and requests in the opposite order
    """

    batch_items: int = 64
    concurrency: int = 16
    reverse: bool = False

    def __str__(self) -> str:
        order = "descending" if self.reverse else "ascending"
        return f"{self.batch_items} items a batch, {order} token ids; {self.concurrency} generations at once"


def run(
    running: RunningEngine,
    items: Sequence[GoldenItem],
    *,
    candidate: str,
    split: str,
    level: ScoringLevel,
    policy: BatchPolicy = BatchPolicy(),
    on_batch: OnBatch = lambda _: None,
    done: Sequence[Answer] = (),
    timeout_s: float = 600.0,
    complete: Complete = streaming.complete,
    settings: scoring.Settings | None = None,
) -> Evaluation:
    """Answers and scores of all items, in their order.

    level:    what the engine's scoring session can give; items that need more are not scored, with that reason
    on_batch: called with the finished answers of each batch, so that the caller can store them
    done:     answers of an earlier, killed run: not asked again, unless they failed
    settings: options of the scorers
    Token counts are of this call only. Raises the EngineError of an engine that died, hung or ran out of memory.
    """
    started = time.monotonic()
    scorers = {name: registry.scorer(name) for name in sorted({item.scorer for item in items})}
    answers = {answer.item: answer for answer in done if not answer.failure}
    waiting = [item for item in items if item.id not in answers]
    beyond = {item.id: _beyond(scorers[item.scorer], level) for item in waiting}
    answers.update({item.id: Answer(item.id, failure=beyond[item.id]) for item in waiting if beyond[item.id]})
    askable = [item for item in waiting if not beyond[item.id]]
    prefill_tokens = generated_tokens = 0
    choosing = [item for item in askable if scorers[item.scorer].likelihood]
    if choosing:
        with running.scoring() as client:
            before = client.computed_tokens
            for batch in _scored(client, choosing, level, policy):
                answers.update({answer.item: answer for answer in batch})
                on_batch(batch)
            prefill_tokens = client.computed_tokens - before
    writing = [item for item in askable if not scorers[item.scorer].likelihood]
    for events in _generated(running, writing, policy, timeout_s, complete):
        batch = tuple(_answer(one) for one in events)
        answers.update({answer.item: answer for answer in batch})
        prefill_tokens += sum(one.prompt_tokens or 0 for one in events)
        generated_tokens += sum(one.output_tokens for one in events)
        on_batch(batch)
    in_order = tuple(answers[item.id] for item in items)
    return Evaluation(
        candidate=candidate,
        split=split,
        scorer_versions={name: scorer.version for name, scorer in scorers.items()},
        answers=in_order,
        scores=scoring.score(items, in_order, settings),
        prefill_tokens=prefill_tokens,
        generated_tokens=generated_tokens,
        seconds=time.monotonic() - started,
        batch_policy=str(policy),
    )


def _beyond(scorer: Scorer, level: ScoringLevel) -> str:
    """Why the engine cannot answer what this scorer needs, or nothing."""
    if level >= scorer.needs:
        return ""
    return f"{scorer.name} needs the scoring level {scorer.needs.name}, this engine gives {level.name}"


# ── likelihood ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Encoded:
    """An item with the token ids of its rendered conversation and of each choice."""

    item: GoldenItem
    prompt: tuple[int, ...]
    choices: tuple[tuple[int, ...], ...]

    def longest(self) -> int:
        return len(self.prompt) + max(len(choice) for choice in self.choices)

    def failure(self, context_length: int) -> str:
        if not all(self.choices):
            return "a choice has no tokens" if self.item.messages else "a text of one token has nothing to be scored"
        if 0 < context_length < self.longest():
            return f"{self.longest()} tokens do not fit the context of {context_length}"
        return ""

    def requests(self, *, share: bool) -> list[ScoreRequest]:
        """One request for all choices when each is a single token and ids can be named; else one for each choice."""
        if share and all(len(choice) == 1 for choice in self.choices):
            wanted = tuple(choice[0] for choice in self.choices)
            return [ScoreRequest((*self.prompt, wanted[0]), len(self.prompt), at_ids=(wanted,))]
        return [ScoreRequest((*self.prompt, *choice), len(self.prompt)) for choice in self.choices]

    def answer(self, results: Sequence[ScoreResult]) -> Answer:
        shared = bool(results[0].at_logprobs)
        values = results[0].at_logprobs[0] if shared else tuple(math.fsum(one.target_logprobs) for one in results)
        if not all(math.isfinite(value) for value in values):
            return Answer(self.item.id, failure="a log-probability is not a finite number")
        return Answer(self.item.id, choice_logprobs=tuple(values), choice_tokens=tuple(map(len, self.choices)))


def _scored(
    client: ScoringClient, items: Sequence[GoldenItem], level: ScoringLevel, policy: BatchPolicy
) -> Iterator[tuple[Answer, ...]]:
    share = level >= ScoringLevel.GIVEN_IDS
    encoded = sorted(_encode(client, items), key=lambda one: one.prompt, reverse=policy.reverse)
    context_length = client.info().context_length
    for start in range(0, len(encoded), policy.batch_items):
        batch = encoded[start : start + policy.batch_items]
        failed = [Answer(one.item.id, failure=why) for one in batch if (why := one.failure(context_length))]
        asked = [one for one in batch if not one.failure(context_length)]
        yield (*failed, *_ask(client, asked, share=share, reverse=policy.reverse))


def _encode(client: ScoringClient, items: Sequence[GoldenItem]) -> list[_Encoded]:
    talks = [item for item in items if item.messages and not _is_raw(item)]
    prompts = iter(client.encode([item.messages for item in talks]))
    choices = iter(client.encode_texts([choice for item in talks for choice in item.choices]))
    texts = iter(client.encode_texts([item.choices[0] for item in items if not item.messages], special_tokens=True))
    raw = iter(_encode_raw(client, [item for item in items if _is_raw(item)]))
    return [
        next(raw)
        if _is_raw(item)
        else _Encoded(item, next(prompts), tuple(next(choices) for _ in item.choices))
        if item.messages
        else _plain_text(item, next(texts))
        for item in items
    ]


def _is_raw(item: GoldenItem) -> bool:
    return bool(item.arguments.get("raw", False))


def _encode_raw(client: ScoringClient, items: Sequence[GoldenItem]) -> list[_Encoded]:
    """The one message as plain text, without a template; a choice is what it adds to the tokens of the text.

    White space at the end of the text belongs to the choice, whose first token mostly begins with it: as
    lm-evaluation-harness does it (lm_eval/api/model.py, `_encode_pair`).
    """
    prompts = [item.messages[0].content.rstrip() for item in items]
    wholes = [item.messages[0].content + choice for item in items for choice in item.choices]
    alone = client.encode_texts(prompts, special_tokens=True)
    whole = iter(client.encode_texts(wholes, special_tokens=True))
    return [
        _Encoded(item, ids, tuple(next(whole)[len(ids) :] for _ in item.choices))
        for item, ids in zip(items, alone, strict=True)
    ]


def _plain_text(item: GoldenItem, ids: tuple[int, ...]) -> _Encoded:
    """A text outside any conversation: its first token is given, the rest is scored."""
    return _Encoded(item, ids[:1], (ids[1:],))


def _ask(client: ScoringClient, batch: Sequence[_Encoded], *, share: bool, reverse: bool) -> list[Answer]:
    requests = [(place, request) for place, one in enumerate(batch) for request in one.requests(share=share)]
    results = scoring_client.in_order_of_ids(client, [request for _, request in requests], reverse=reverse)
    by_item: list[list[ScoreResult]] = [[] for _ in batch]
    for (place, _), result in zip(requests, results, strict=True):
        by_item[place].append(result)
    return [one.answer(parts) for one, parts in zip(batch, by_item, strict=True)]


# ── generation ───────────────────────────────────────────────────────────────────────────────────────────────────


def _generated(
    running: RunningEngine, items: Sequence[GoldenItem], policy: BatchPolicy, timeout_s: float, complete: Complete
) -> Iterator[tuple[RequestEvents, ...]]:
    ordered = list(reversed(items)) if policy.reverse else list(items)
    for start in range(0, len(ordered), policy.batch_items):
        batch = ordered[start : start + policy.batch_items]
        requests = [TrafficRequest(item.id, item.messages, item.max_tokens) for item in batch]
        yield generation.greedy(
            running, requests, concurrency=policy.concurrency, timeout_s=timeout_s, complete=complete
        )


def _answer(events: RequestEvents) -> Answer:
    """A model that ends at once has answered, with nothing; any other failure is the engine's and not an answer."""
    ended_at_once = events.failure == "no_tokens" and events.finish_reason == "stop"
    failure = "" if ended_at_once or not events.failure else f"{events.failure}: {events.detail}"
    return Answer(events.id, events.text, events.token_ids, events.finish_reason, failure=failure.rstrip(": "))
