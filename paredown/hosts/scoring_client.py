"""Parent side of the scoring socket: tokens by the artifact's own tokenizer, and log-probabilities."""

from __future__ import annotations

import socket
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from paredown.contracts import ScoreRequest, ScoreResult
from paredown.errors import EngineDied, EngineError, EngineHung, EngineOutOfMemory
from paredown.hosts import score_codec, wire
from paredown.records.traffic import Message

DEFAULT_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class HostInfo:
    """What the host has seen so far.

    computed_tokens: tokens that went through the model for scoring (shared prefixes once, no padding)
    batching_seen:   most requests that got a token in one step; 0 before the first one
    generated_tokens: tokens that the engine has generated, also for clients that went away
    context_length:  positions of the model, 0 = its files do not say; stop_ids: tokens that end a generation
    kv_bytes, kv_tokens: the largest KV cache that was seen, and the positions that it was allocated for; None = the
                     engine does not tell (or nothing was generated yet)
    kv_capacity_tokens: positions that fit before requests wait; None = as many as memory holds, or not told
    """

    computed_tokens: int
    batching_seen: int
    context_length: int
    stop_ids: tuple[int, ...]
    generated_tokens: int = 0
    kv_bytes: int | None = None
    kv_tokens: int | None = None
    kv_capacity_tokens: int | None = None


class ScoringClient:
    """A connection to a host's scoring socket; one call at a time. Use as a context manager.

    Every call raises EngineHung when nothing came within its time, EngineOutOfMemory or EngineDied when the engine
    ended, EngineError when it could not do what was asked.
    """

    def __init__(
        self,
        path: Path,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        why_it_ended: Callable[[], EngineError] | None = None,
    ) -> None:
        self._why_it_ended = why_it_ended
        self._timeout_s = timeout_s
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise self._ended(str(error)) from error

    def encode(
        self, conversations: Sequence[Sequence[Message]], *, add_generation_prompt: bool = True
    ) -> tuple[tuple[int, ...], ...]:
        """Token ids of each conversation, rendered by the artifact's chat template."""
        plain = [[message.plain for message in messages] for messages in conversations]
        answer = self._call({"op": "encode", "conversations": plain, "add_generation_prompt": add_generation_prompt})
        return tuple(wire.rows(answer.arrays["ids"], answer.arrays["lengths"]))

    def encode_texts(self, texts: Sequence[str], *, special_tokens: bool = False) -> tuple[tuple[int, ...], ...]:
        """Token ids of each text, no template; `special_tokens` adds those a text starts with (BOS), if it has any."""
        answer = self._call({"op": "encode", "texts": list(texts), "special_tokens": special_tokens})
        return tuple(wire.rows(answer.arrays["ids"], answer.arrays["lengths"]))

    def decode(self, ids: Sequence[Sequence[int]]) -> tuple[str, ...]:
        """Text of each row of token ids, special tokens left out."""
        packed = wire.ragged(ids, "i4")
        answer = self._call({"op": "decode"}, {"ids": packed.flat, "lengths": packed.lengths})
        return tuple(answer.header["texts"])

    def score(self, requests: Sequence[ScoreRequest], *, timeout_s: float | None = None) -> tuple[ScoreResult, ...]:
        """Log-probabilities (nats) in the order of the requests; sort them by token ids so that prefixes are shared."""
        if not requests:
            return ()
        answer = self._call({"op": "score"}, score_codec.pack_requests(requests), timeout_s=timeout_s)
        return score_codec.unpack_results(answer.arrays)

    def info(self) -> HostInfo:
        header = self._call({"op": "info"}).header
        return HostInfo(
            header["computed_tokens"],
            header["batching_seen"],
            header["context_length"] or 0,
            tuple(header["stop_ids"]),
            header["generated_tokens"],
            header.get("kv_bytes"),
            header.get("kv_tokens"),
            header.get("kv_capacity_tokens"),
        )

    @property
    def computed_tokens(self) -> int:
        """Tokens that went through the model for scoring since it was opened."""
        return self.info().computed_tokens

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> ScoringClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(
        self,
        header: Mapping[str, Any],
        arrays: Mapping[str, array[Any]] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> wire.WireMessage:
        self._socket.settimeout(timeout_s or self._timeout_s)
        try:
            wire.send(self._socket, header, arrays)
            answer = wire.receive(self._socket)
        except TimeoutError as error:
            # The answer may still come: this connection cannot be used again.
            self.close()
            waited = timeout_s or self._timeout_s
            raise EngineHung(f"The engine did not answer {header['op']!r} within {waited:g} s.") from error
        except (OSError, wire.WireError) as error:
            self.close()
            raise self._ended(str(error)) from error
        if answer.op == "error":
            raise _error_of(answer.header)
        return answer

    def _ended(self, found: str) -> EngineError:
        if self._why_it_ended is not None:
            return self._why_it_ended()
        return EngineDied(f"The engine's scoring socket is gone: {found}.")


def _error_of(header: Mapping[str, Any]) -> EngineError:
    kind = EngineOutOfMemory if header.get("error") == "memory" else EngineError
    return kind(str(header.get("message", "")), detail=str(header.get("traceback", "")))


def in_order_of_ids(
    client: ScoringClient, requests: Sequence[ScoreRequest], *, reverse: bool = False
) -> list[ScoreResult]:
    """Results in the order of the requests; asked in the order of the token ids, so that prefixes are shared."""
    order = sorted(range(len(requests)), key=lambda index: requests[index].token_ids, reverse=reverse)
    results = dict(zip(order, client.score([requests[index] for index in order]), strict=True))
    return [results[index] for index in range(len(requests))]
