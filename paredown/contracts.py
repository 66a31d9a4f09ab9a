"""The whole plug-in interface, on one page. Standard library only: isolated environments import it too.

A plug-in is one file whose name is its name. It holds one constant, named after its kind (TECHNIQUE, ENGINE,
METRIC, SCORER, LOADSHAPE, LOADER), that declares facts as data (readable without importing any heavy library) and
binds the functions that act. Heavy libraries are imported inside those functions. Plug-ins never import each other;
generic code never asks which one it holds: a difference is a declared fact or another function.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paredown.records.artifact import Artifact, LayerLeft, ModelFacts
from paredown.records.candidate import LeftOut, Proposal, Rung
from paredown.records.events import Trial
from paredown.records.figure import Figure, Options, Samples, Scalar
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.records.machine import Machine
from paredown.records.traffic import TrafficRequest

# fmt: off
__all__ = [  # also the records that plug-ins make, so that one import is enough
    "Answer",
    "Applied",
    "ApplyContext",
    "Artifact",
    "Batching",
    "Clock",
    "Engine",
    "Environment",
    "Evidence",
    "Figure",
    "GenerationRequest",
    "GenerationSession",
    "GoldenItem",
    "KvCacheUse",
    "LayerLeft",
    "LeftOut",
    "LoadShape",
    "LoadStep",
    "Loader",
    "Machine",
    "Metric",
    "ModelFacts",
    "Needs",
    "OpenContext",
    "OpenedEngine",
    "Option",
    "Options",
    "PlanFacts",
    "Proposal",
    "RawRow",
    "Rung",
    "Samples",
    "Scalar",
    "Score",
    "ScoreRequest",
    "ScoreResult",
    "Scorer",
    "ScoringLevel",
    "ScoringSession",
    "Send",
    "ServedBy",
    "ServerCommand",
    "StepOutput",
    "Technique",
    "TrafficRequest",
    "Trial",
]
# fmt: on


@dataclass(frozen=True)
class Environment:
    """A Python environment of its own, made on first use, for packages that cannot live beside the others.

    requirements: pinned, as pip takes them; remove: packages that they pull in and that break it
    """

    name: str
    requirements: tuple[str, ...]
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """A setting with its default. `changes_numbers`: whether answers can depend on it (part of the quality key)."""

    name: str
    default: Scalar
    help: str
    choices: tuple[Scalar, ...] = ()
    changes_numbers: bool = False


@dataclass(frozen=True)
class Needs:
    """What must be there. `packages` are import names; the install line names `extra`."""

    packages: tuple[str, ...] = ()
    extra: str = ""
    devices: tuple[str, ...] = ("cpu", "cuda")
    min_compute_capability: float = 0.0
    calibration: bool = False
    accelerators: int = 0
    memory_factor: float = 2.0


# ── techniques ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PlanFacts:
    """All that a technique may know when it proposes: facts, no files opened, nothing heavy imported."""

    model: ModelFacts
    machine: Machine
    chain: tuple[Proposal, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApplyContext:
    """What `apply` gets, in the worker process of the technique's environment.

    sources:     artifacts by role (`main`; a teacher, a draft)
    out:         an empty directory for the new artifact
    checkpoints: survives a kill; a long `apply` resumes from what it finds there
    calibration: JSONL of {"text": …} or {"messages": […]}, None when not asked for
    devices:     devices it may use
    report:      (fraction done 0…1, what it is doing)
    """

    sources: Mapping[str, Artifact]
    out: Path
    options: Options
    checkpoints: Path
    report: Callable[[float, str], None]
    calibration: Path | None = None
    devices: tuple[str, ...] = ("cpu",)
    seed: int = 0


@dataclass(frozen=True)
class Applied:
    """What `apply` says of what it made; sizes and digests are read from the files afterwards, never claimed."""

    layers_left: tuple[LayerLeft, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Technique:
    """Proposes steps from facts (`propose`, pure) and makes an artifact from another (`apply`).

    consumes, produces: artifact formats; the plan finds engines that open what it produces
    apply:   None for a technique that only sets options of the engine
    changes_weights: False on the lossless rung
    trade_off: one paragraph for the user: what it buys, what it costs, when not to use it
    """

    name: str
    summary: str
    trade_off: str
    rung: Rung
    consumes: tuple[str, ...]
    produces: str
    propose: Callable[[PlanFacts], Sequence[Proposal | LeftOut]]
    apply: Callable[[ApplyContext], Applied] | None
    needs: Needs = Needs()
    options: tuple[Option, ...] = ()
    environment: Environment | None = None
    changes_weights: bool = True
    version: int = 1


# ── engines ──────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── metrics ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Evidence:
    """All that a metric may look at. `None` = not there, and then the metric says `missing`, not 0.

    limits: what each request must keep, by metric, in seconds: {"ttft": 0.2, "tpot": 0.05, "e2e": 3.0}
    """

    trial: Trial | None = None
    artifact: Artifact | None = None
    price_usd_per_hour: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """A pure function of raw evidence.

    compute: `Samples` for a metric with a distribution (targets then name a statistic: `ttft_p95`), else `Figure`
    better:  `lower` or `higher`
    requires: what a host or a request may lack, without which nobody can measure it:
              `energy_counter`, `price`, `limits`
    """

    name: str
    unit: str
    better: str
    summary: str
    formula: str
    compute: Callable[[Evidence], Samples | Figure]
    distribution: bool = False
    requires: tuple[str, ...] = ()


# ── scorers ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Scorer:
    """Judges one answer.

    likelihood: True when it needs `choices` scored instead of a generated text
    chance:     score of random guessing on this item; None = unknown
    check:      raises ValueError (one sentence, names the field) for an item that it cannot score
    """

    name: str
    summary: str
    version: int
    likelihood: bool
    needs: ScoringLevel
    score: Callable[[GoldenItem, Answer], Score]
    chance: Callable[[GoldenItem], float | None]
    check: Callable[[GoldenItem], None]
    deterministic: bool = True


# ── load shapes ──────────────────────────────────────────────────────────────────────────────────────────────────


class Clock(Protocol):
    """Time under the caller's control. `now_ns` is monotonic."""

    def now_ns(self) -> int: ...
    async def sleep_until_ns(self, due_ns: int) -> None: ...


Send = Callable[[TrafficRequest, int], Awaitable[None]]
"""Send one request that was due at the given time (ns); returns when it has finished or failed."""


@dataclass(frozen=True)
class LoadStep:
    """One step of a load that has several: which shape with which options, and how it is called in a report."""

    label: str
    load_shape: str
    options: Options


@dataclass(frozen=True)
class LoadShape:
    """Decides when requests are sent. Exactly one of `drive`, `due` and `steps` is given.

    concurrency: requests in flight at most, from the options (None = unbounded, open loop); raises UserError for
                 options that make no load
    drive: closed loop: sends, and returns when every request it sent has finished
    due:   open loop: seconds after the start at which each request is due, ascending, one for each request (the
           schedule is kept however slow the server is)
    steps: several loads one after the other, each with its own share of the requests and figures of its own
    """

    name: str
    summary: str
    concurrency: Callable[[Options], int | None]
    drive: Callable[[Sequence[TrafficRequest], Options, Clock, Send], Awaitable[None]] | None = None
    due: Callable[[Sequence[TrafficRequest], Options], Sequence[float]] | None = None
    steps: Callable[[Options], Sequence[LoadStep]] | None = None
    options: tuple[Option, ...] = ()


# ── loaders ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class RawRow:
    """One row of a data set as it was found, and where (`file:line`)."""

    fields: Mapping[str, object]
    where: str


@dataclass(frozen=True)
class Loader:
    """Reads golden items from a file or data set. `claims` says whether a source is meant for it."""

    name: str
    summary: str
    claims: Callable[[str], bool]
    load: Callable[[str], Iterable[RawRow]]
    needs: Needs = Needs()
