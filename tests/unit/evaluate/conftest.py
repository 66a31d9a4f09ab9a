"""A toy language model with known distributions, in this process, behind the parent's side of a host."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from paredown.contracts import ScoreRequest, ScoreResult
from paredown.errors import EngineDied
from paredown.hosts.scoring_client import HostInfo
from paredown.records.events import ChunkEvent, RequestEvents
from paredown.records.traffic import Message, TrafficRequest

VOCABULARY = 128
STOP = 0


@dataclass
class Toy:
    """Tokens are characters modulo 128. `noise` moves the logits, `scripted` are answers by the last message.

    asked: every score request, one list for each call
    bos: what conversations and texts begin with, where a text wants its special tokens
    """

    noise: float = 0.0
    template: bool = True
    bos: tuple[int, ...] = ()
    scripted: dict[str, str] = field(default_factory=dict)
    context_length: int = 1000
    stop_ids: tuple[int, ...] = (STOP,)
    nan_at: int | None = None
    dead: bool = False
    failing: dict[str, str] = field(default_factory=dict)
    asked: list[list[ScoreRequest]] = field(default_factory=list)
    generated: list[list[str]] = field(default_factory=list)
    computed_tokens: int = 0
    url: str = "http://toy"
    api_key: str = ""
    model_name: str = "toy"

    # ── the model ──

    def logprobs(self, prefix: Sequence[int]) -> np.ndarray:
        seed = zlib.crc32(bytes(prefix))
        logits = 3.0 * np.random.default_rng(seed).normal(size=VOCABULARY)
        logits += self.noise * np.random.default_rng([seed, 1]).normal(size=VOCABULARY)
        shifted = logits - logits.max()
        return shifted - np.log(np.exp(shifted).sum())

    def render(self, messages: Sequence[Message]) -> tuple[int, ...]:
        if not self.template:
            return self.ids("".join(message.content for message in messages))
        text = "".join(f"<{message.role}>{message.content}\n" for message in messages) + "<assistant>"
        return (*self.bos, *self.ids(text))

    @staticmethod
    def ids(text: str) -> tuple[int, ...]:
        return tuple(ord(character) % VOCABULARY for character in text)

    # ── the running engine and its scoring client ──

    def scoring(self) -> Toy:
        return self

    def __enter__(self) -> Toy:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def raise_if_ended(self) -> None:
        if self.dead:
            raise EngineDied("it died")

    def info(self) -> HostInfo:
        return HostInfo(self.computed_tokens, 1, self.context_length, self.stop_ids)

    def encode(self, conversations: Sequence[Sequence[Message]]) -> tuple[tuple[int, ...], ...]:
        return tuple(self.render(messages) for messages in conversations)

    def encode_texts(self, texts: Sequence[str], *, special_tokens: bool = False) -> tuple[tuple[int, ...], ...]:
        return tuple((*(self.bos if special_tokens else ()), *self.ids(text)) for text in texts)

    def decode(self, ids: Sequence[Sequence[int]]) -> tuple[str, ...]:
        return tuple("".join(map(chr, row)) for row in ids)

    def score(self, requests: Sequence[ScoreRequest]) -> tuple[ScoreResult, ...]:
        if not requests:
            return ()
        self.asked.append(list(requests))
        return tuple(self._score(request) for request in requests)

    def _score(self, request: ScoreRequest) -> ScoreResult:
        self.computed_tokens += len(request.token_ids)
        rows = [self.logprobs(request.token_ids[:place]) for place in range(request.start, len(request.token_ids))]
        if self.nan_at is not None:
            rows[self.nan_at][:] = np.nan
        top = [tuple(int(i) for i in np.argsort(-row, kind="stable")[: request.top_k]) for row in rows]
        return ScoreResult(
            tuple(float(row[token]) for row, token in zip(rows, request.token_ids[request.start :], strict=True)),
            tuple(top) if request.top_k else (),
            tuple(tuple(float(row[i]) for i in ids) for row, ids in zip(rows, top, strict=True))
            if request.top_k
            else (),
            tuple(tuple(float(row[i]) for i in ids) for row, ids in zip(rows, request.at_ids, strict=True))
            if request.at_ids
            else (),
        )

    # ── generation ──

    def complete(
        self, url: str, key: str, model: str, requests: Sequence[TrafficRequest], **_: object
    ) -> tuple[RequestEvents, ...]:
        self.generated.append([request.id for request in requests])
        return tuple(self._complete(request) for request in requests)

    def _complete(self, request: TrafficRequest) -> RequestEvents:
        prompt = self.render(request.messages)
        empty = RequestEvents(request.id, 0, 0, (), 1, len(prompt), 0, request.output_tokens)
        if request.id in self.failing:
            kind = self.failing[request.id]
            return dataclasses.replace(empty, failure=kind, finish_reason="" if "status" in kind else "stop")
        said = self.scripted.get(request.messages[-1].content)
        tokens = list(self.ids(said)) if said is not None else []
        while said is None and len(tokens) < request.output_tokens:
            token = int(self.logprobs((*prompt, *tokens)).argmax())
            if token in self.stop_ids:
                break
            tokens.append(token)
        stopped = len(tokens) < request.output_tokens
        tokens = tokens[: request.output_tokens]
        return dataclasses.replace(
            empty,
            chunks=tuple(ChunkEvent(place, (token,)) for place, token in enumerate(tokens)),
            output_tokens=len(tokens),
            finish_reason="stop" if stopped else "length",
            text=said if said is not None else "".join(map(chr, tokens)),
        )


@pytest.fixture
def toy() -> Callable[..., Toy]:
    return Toy
