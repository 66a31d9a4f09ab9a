"""Engines: open an artifact, generate, score."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paredown.contracts.needs import Environment, Needs, Option
from paredown.records.artifact import Artifact
from paredown.records.figure import Options
from paredown.records.machine import Machine


class Batching(enum.StrEnum):
    NONE = "none"
    STATIC = "static"
    CONTINUOUS = "continuous"


class ScoringLevel(enum.IntEnum):
    """What log-probabilities the engine can give, from nothing to all."""

    NONE = 0
    TARGET_ONLY = 1
    OWN_TOP_K = 2
    GIVEN_IDS = 3
    FULL = 4


class ServedBy(enum.StrEnum):
    """Who speaks HTTP: our thin host around a library, the engine's own server, or somebody else's endpoint."""

    HOST = "host"
    OWN = "own"
    REMOTE = "remote"


@dataclass(frozen=True)
class GenerationRequest:
    """Greedy generation from token ids. `ignore_eos` forces exactly `max_tokens`."""

    id: str
    prompt_ids: tuple[int, ...]
    max_tokens: int
    ignore_eos: bool = False
    stop_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepOutput:
    """New tokens of one request after one step; `finish_reason` is `stop`, `length` or empty (goes on).

    A token of `stop_ids` that ends the generation is among `token_ids` (it was computed, and counts in `usage`).
    at_ns: when the engine had them (monotonic), if it knows better than the host, which else stamps them
    """

    id: str
    token_ids: tuple[int, ...]
    finish_reason: str = ""
    at_ns: int | None = None


@dataclass(frozen=True)
class KvCacheUse:
    """The KV cache as the engine holds it now.

    allocated_bytes: what is allocated for `tokens` positions (of all active requests; padding and reserves included)
    capacity_tokens: positions that fit before requests have to wait or are preempted; None = as many as memory holds
    """

    allocated_bytes: int
    tokens: int
    capacity_tokens: int | None = None


class GenerationSession(Protocol):
    """Generation inside the host's engine thread. One thread calls it; a step computes one token per active request.

    `kv_cache` tells what the cache of the active requests takes; None = the library does not say.
    """

    def add(self, request: GenerationRequest) -> None: ...
    def step(self) -> Sequence[StepOutput]: ...
    def cancel(self, request_id: str) -> None: ...
    def kv_cache(self) -> KvCacheUse | None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class ScoreRequest:
    """A sequence to be teacher-forced: log-probabilities of `token_ids[i]` for every i ≥ start (start ≥ 1).

    at_ids: also the log-probabilities at these ids, for each of those positions (needs GIVEN_IDS)
    top_k:  also the k largest (needs OWN_TOP_K)
    Neighbours in a batch that share a prefix may be computed once: callers sort by token ids.
    """

    token_ids: tuple[int, ...]
    start: int
    top_k: int = 0
    at_ids: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class ScoreResult:
    """Natural logarithms. Each field has one row per position from `start` on; `top_*` sorted, largest first."""

    target_logprobs: tuple[float, ...]
    top_ids: tuple[tuple[int, ...], ...] = ()
    top_logprobs: tuple[tuple[float, ...], ...] = ()
    at_logprobs: tuple[tuple[float, ...], ...] = ()


class ScoringSession(Protocol):
    """Log-probabilities through the path that is served (same weights, same numeric options).

    `computed_tokens` counts the tokens that went through the model since opening (shared prefixes once).
    """

    computed_tokens: int

    def score(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class OpenContext:
    """What an engine gets to open: artifacts by role, every option resolved, the request limit."""

    artifacts: Mapping[str, Path]
    options: Options
    device: str = "cpu"


class OpenedEngine(Protocol):
    """The loaded model, in the host process. `generation` and `scoring` share its weights."""

    def generation(self) -> GenerationSession: ...
    def scoring(self) -> ScoringSession | None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class ServerCommand:
    """How to start an engine that brings its own OpenAI-compatible server. No shell.

    `{port}`, `{api_key}`, `{model_name}` and `{python}` are filled in, in arguments and environment variables.
    """

    argv: tuple[str, ...]
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    health_path: str = "/health"


@dataclass(frozen=True)
class Engine:
    """Opens an artifact and serves it, in a process of its own.

    opens:      artifact formats; empty for an endpoint that has no artifact
    resolve:    (artifact, machine, wanted options) → every option written out
    open:       for ServedBy.HOST, called in the worker process
    command:    for ServedBy.OWN
    max_batch:  requests computed together at most (1 for Batching.NONE)
    baseline:   True for the reference engine of a format
    """

    name: str
    summary: str
    opens: tuple[str, ...]
    served_by: ServedBy
    batching: Batching
    scoring: ScoringLevel
    resolve: Callable[[Artifact | None, Machine, Options], Options]
    open: Callable[[OpenContext], OpenedEngine] | None = None
    command: Callable[[OpenContext], ServerCommand] | None = None
    needs: Needs = Needs()
    options: tuple[Option, ...] = ()
    environment: Environment | None = None
    versions_of: tuple[str, ...] = ()
    max_batch: int = 1
    baseline: bool = False
