"""What `measure`, `capacity` and `profile` find: figures under each traffic, curves, capacities, the bottleneck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paredown.records.bottleneck import Placement
from paredown.records.candidate import Rung
from paredown.records.events import Trial
from paredown.records.figure import Figure, Options
from paredown.records.machine import Machine


@dataclass(frozen=True)
class MeasuredTraffic:
    """One model or server under one traffic.

    definitions: the same raw events by the definitions of other tools: {"vllm": figures, "aiperf": figures}
    failures:    how many requests failed, by error class
    trial:       the raw events; None where they are kept elsewhere
    """

    traffic: str
    summary: str
    load_shape: str
    options: Options
    requests: int
    figures: tuple[Figure, ...]
    definitions: Mapping[str, tuple[Figure, ...]] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    void: str = ""
    notes: tuple[str, ...] = ()
    trial: Trial | None = None


@dataclass(frozen=True)
class CurvePoint:
    """Figures at one place of an axis. `outcome` says in words what the server did (queued, preempted, failed …)."""

    x: float
    label: str
    figures: tuple[Figure, ...]
    failures: Mapping[str, int] = field(default_factory=dict)
    void: str = ""
    outcome: str = ""

    def figure(self, name: str) -> Figure | None:
        """The figure of that name (`ttft_p50`), None when it is not there."""
        return next((figure for figure in self.figures if figure.name == name), None)


@dataclass(frozen=True)
class Curve:
    """Figures along an axis.

    name: `context_length`, `load`, `kv_pressure`, `prefix_cache`; axis: its title; unit: of x
    """

    name: str
    axis: str
    unit: str
    points: tuple[CurvePoint, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CapacityPoint:
    """One load that was tried: how many of its runs met every target; `missed` names what failed first and by what."""

    load: float
    runs: int
    met: int
    void: int = 0
    missed: str = ""
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Capacity:
    """The largest load that meets every target.

    axis: `request_rate` (requests/s) or `concurrency` (requests in flight)
    low:  largest load up to which every run met every target; None = not even the smallest one did
    high: smallest load from which on every run missed one; None = the search ended before it was found (`note`)
    The capacity lies between the two.
    """

    axis: str
    unit: str
    low: float | None
    high: float | None
    targets: tuple[str, ...]
    points: tuple[CapacityPoint, ...]
    sentence: str
    note: str = ""


@dataclass(frozen=True)
class OperatorRow:
    """One operator of the framework, all its calls together. `share` is of the time of all operators of its phase."""

    name: str
    calls: int
    self_s: float
    share: float
    operations: int | None = None


@dataclass(frozen=True)
class OperatorTable:
    """Where the time of one phase goes, operator by operator, the dearest first.

    wall_s: of the whole phase; framework_s: what no operator accounts for (Python, scheduling); seconds a step
    """

    phase: str
    batch: int
    tokens: int
    steps: int
    wall_s: float
    framework_s: float
    rows: tuple[OperatorRow, ...]


@dataclass(frozen=True)
class Profile:
    """Where prefill and decode stand and what takes their time.

    traces:     files that open in Perfetto or Nsight
    left_out:   tools that did not run, each with its reason
    bottleneck: the sentence that names it and the rung of the ladder that addresses it
    """

    placements: tuple[Placement, ...]
    operators: tuple[OperatorTable, ...]
    traces: tuple[str, ...]
    left_out: Mapping[str, str]
    bottleneck: str
    rung: Rung | None


@dataclass(frozen=True)
class Measurement:
    """Everything that one command found on one model or server.

    subject: the model or the URL; engine: the name of the engine, or `endpoint`
    started: local time, ISO 8601
    cautions: sentences that belong beside every figure
    """

    subject: str
    engine: str
    started: str
    machine: Machine | None
    versions: Mapping[str, str]
    command: str
    traffics: tuple[MeasuredTraffic, ...] = ()
    curves: tuple[Curve, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    profile: Profile | None = None
    cautions: tuple[str, ...] = ()
