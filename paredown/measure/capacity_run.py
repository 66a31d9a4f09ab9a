"""Runs the loads of a capacity search on a real engine or server, and judges each run by its own requests."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from paredown import registry
from paredown.contracts import Evidence
from paredown.errors import EngineError, UserError
from paredown.measure import capacity, definitions, figures, void
from paredown.measure.capacity import RunOutcome
from paredown.measure.fresh_prompts import FreshPrompts
from paredown.measure.load import SendSettings, drive, raise_if_all_failed
from paredown.measure.running import Running, Start
from paredown.measure.warm_up import requests_like, until_at_rest
from paredown.records import timing
from paredown.records.events import Block, RequestEvents, Trial
from paredown.records.figure import Figure, Options, Samples
from paredown.records.measurement import Capacity, CapacityPoint
from paredown.records.traffic import Traffic, TrafficRequest
from paredown.records.verdict import Comparison, Target
from paredown.spec import limits
from paredown.spec.targets import QUALITY_DROP
from paredown.stats.figures import mean, quantile

SHAPES = {"request_rate": "poisson", "concurrency": "closed_loop"}
SUITED = frozenset({*timing.PER_REQUEST, "decode_speed", "good_fraction"})
"""Metrics that get worse as the load grows; what grows with it, such as throughput, is missed at a small load."""

FIGURES = (*definitions.OUR_METRICS, "send_delay")
ROUNDS_IN_FLIGHT = 3
MOST_WARM_UP_REQUESTS = 64


@dataclass(frozen=True)
class CapacitySettings:
    """How to search.

    seconds:        of arrivals in each run; the run ends when the last answer has come
    first, largest: loads at which the search begins and gives up (requests/s, or requests in flight)
    fresh:          a process of its own for every run, not one warm one for all
    least_requests: in a run, however short that makes `seconds`: a percentile rests on them
    seed:           of the arrivals, which differ from run to run
    """

    seconds: float = 20.0
    first: float = 1.0
    largest: float = 1024.0
    runs: int = 3
    precision: float = 0.1
    fresh: bool = False
    timeout_s: float = 120.0
    least_requests: int = 20
    forced_lengths: bool = True
    seed: int = 0


def find(
    start: Start,
    traffic: Traffic,
    targets: Sequence[Target],
    *,
    axis: str,
    settings: CapacitySettings | None = None,
    on_point: Callable[[CapacityPoint], None] | None = None,
) -> Capacity:
    """The largest request rate (Poisson arrivals) or concurrency (closed loop) that keeps every target.

    Raises UserError for targets or a traffic that a capacity cannot be judged by, EngineError when the engine does not
    start or answers nothing at all; one that fails under a load has missed it, and is started again.
    """
    settings = settings or CapacitySettings()
    check(targets)
    if traffic.cache == "warm":
        raise UserError(
            f"The traffic {traffic.name!r} wants a warm prefix cache, and a capacity is searched with new prompts "
            "all the time. Give a traffic whose cache is cold or shared."
        )
    with _Loads(start, traffic, targets, axis, settings) as loads:
        found = capacity.search(
            loads.run,
            axis=axis,
            first=settings.first,
            largest=settings.largest,
            runs=settings.runs,
            precision=settings.precision,
            targets=[target.text for target in targets],
            on_point=on_point,
        )
        return replace(found, note=" ".join(filter(None, (found.note, *loads.notes()))))


def check(targets: Sequence[Target]) -> None:
    """Raises UserError when there is no target, or for the first by which no load can be judged."""
    if not targets:
        raise UserError("A capacity is the largest load that keeps a target. Give one, for example 'ttft_p95<=500ms'.")
    for target in targets:
        if target.metric == QUALITY_DROP:
            raise UserError(f"The target {target.text!r} is about answers, and a capacity about speed: leave it out.")
        if target.relative:
            raise UserError(
                f"The target {target.text!r} is relative to a baseline, and a capacity has none. Give it a unit, for "
                "example 'ttft_p95<=500ms'."
            )
        if target.metric not in SUITED:
            raise UserError(
                f"The target {target.text!r} is none that a growing load breaks. A capacity takes targets on "
                f"{', '.join(sorted(SUITED))}."
            )


class _Loads:
    """The process that is measured, started when it is needed, and the prompts that it has not seen yet."""

    def __init__(
        self, start: Start, traffic: Traffic, targets: Sequence[Target], axis: str, settings: CapacitySettings
    ) -> None:
        self._start, self._traffic, self._targets = start, traffic, tuple(targets)
        self._axis, self._settings = axis, settings
        self._engine: AbstractContextManager[Running] | None = None
        self._running: Running | None = None
        self._prompts = FreshPrompts(traffic.requests)
        self._warmed_up_to = 0
        self._requests_per_s: float | None = None
        self._runs = 0
        self._salted = False

    def __enter__(self) -> _Loads:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def run(self, load: float, number: int) -> RunOutcome:
        """One run at one load; `capacity.RunAt`."""
        del number  # arrivals differ from run to run over the whole search
        self._runs += 1
        running = self._ready()
        try:
            self._warm_up(running, math.ceil(load))
            events = self._send(running, load)
        except EngineError as error:
            self._stop()
            return RunOutcome((), missed=f"the engine failed: {error}")
        except UserError as error:
            return RunOutcome((), void=str(error))
        if self._settings.fresh:
            self._stop()
        return self._judge(running, load, events)

    def notes(self) -> tuple[str, ...]:
        """What the reader of the result must know about the requests."""
        least = self._settings.least_requests
        notes = [f"Each run: {self._settings.seconds:g} s, and at least {least} requests on which its figures rest."]
        if self._salted:
            notes.append("Every prompt had a mark put in front, because this server may have seen it before.")
        elif self._prompts.rounds > 1:
            notes.append(
                f"The traffic's {len(self._traffic.requests)} requests were sent {self._prompts.rounds} times over, "
                "from the second time on with a mark in front, so that no prefix cache held them."
            )
        return tuple(notes)

    def _ready(self) -> Running:
        if self._running is not None:
            return self._running
        self._engine = self._start()
        self._running = self._engine.__enter__()
        self._warmed_up_to = 0
        if self._running.startup is None and not self._salted:
            # Not started by us, so it may have seen these prompts: in an earlier search, or along the other axis.
            self._prompts, self._salted = FreshPrompts(self._traffic.requests, secrets.token_hex(2)), True
        single = registry.load_shape("single_stream")
        first = drive(self._running, single, {}, requests_like(self._traffic.requests, 1), self._sending(self._running))
        raise_if_all_failed(first, "warming up")
        return self._running

    def _stop(self) -> None:
        engine, self._engine, self._running = self._engine, None, None
        if engine is not None:
            engine.__exit__(None, None, None)

    def _warm_up(self, running: Running, together: int) -> None:
        """As many at once as the process has not computed together before: it may compile or allocate for them."""
        together = min(together, MOST_WARM_UP_REQUESTS)
        if together <= self._warmed_up_to:
            return
        shape, sending = registry.load_shape("closed_loop"), self._sending(running)

        def send(requests: Sequence[TrafficRequest]) -> Sequence[RequestEvents]:
            return drive(running, shape, {"concurrency": together}, requests, sending)

        until_at_rest(self._traffic.requests, together, send)
        self._warmed_up_to = together

    def _send(self, running: Running, load: float) -> tuple[RequestEvents, ...]:
        shape = registry.load_shape(SHAPES[self._axis])
        requests = self._prompts.take(self._count(load))
        return drive(running, shape, self._options(load), requests, self._sending(running))

    def _options(self, load: float) -> Options:
        if self._axis == "concurrency":
            return {"concurrency": int(load)}
        return {"rate": load, "seed": self._settings.seed + self._runs}

    def _count(self, load: float) -> int:
        """So many that the run lasts `seconds`; in a closed loop by the speed of the run before, as far as known."""
        least, seconds = self._settings.least_requests, self._settings.seconds
        if self._axis == "concurrency":
            return max(least, ROUNDS_IN_FLIGHT * int(load), math.ceil(seconds * (self._requests_per_s or 0.0)))
        return max(least, math.ceil(seconds * load))

    def _sending(self, running: Running) -> SendSettings:
        return SendSettings(self._is_forced(running), self._settings.timeout_s)

    def _is_forced(self, running: Running) -> bool:
        return self._settings.forced_lengths and running.dialect.ignore_eos

    def _judge(self, running: Running, load: float, events: tuple[RequestEvents, ...]) -> RunOutcome:
        block = Block(0, events, None, None, None, fresh_process=self._settings.fresh)
        self._requests_per_s = timing.request_rate(block, timing.whole_window(block)) or self._requests_per_s
        in_flight = int(load) if self._axis == "concurrency" else timing.peak_in_flight(events)
        name, why_void = self._traffic.name, self._void(running, events)
        trial = Trial(name, name, in_flight, (block,), why_void, cache=self._traffic.cache)
        evidence = Evidence(trial, limits=limits.per_request(self._targets))
        wanted = [metric for metric in map(registry.metric, FIGURES) if evidence.limits or not metric.requires]
        found = figures.compute(evidence, wanted)
        return RunOutcome(found, "" if trial.void else missed(evidence, self._targets), trial.void)

    def _void(self, running: Running, events: tuple[RequestEvents, ...]) -> str:
        return void.reason(
            [events],
            forced_lengths=self._is_forced(running),
            ttft_target_s=limits.ttft_s(self._targets),
            cache=self._traffic.cache,
        )


def missed(evidence: Evidence, targets: Sequence[Target]) -> str:
    """What a run violated first: that requests failed, else the first target that it missed; empty = nothing.

    Raises UserError for a target that no request of this traffic says anything about.
    """
    assert evidence.trial is not None
    failed, every = timing.failures(evidence.trial), evidence.trial.requests()
    if failed:
        return f"requests failed, {sum(failed.values())} of {len(every)} ({timing.failure_text(evidence.trial)})"
    for target in targets:
        found = _figure(evidence, target)
        if found.value is None:
            raise UserError(f"The target {target.text!r} cannot be judged under this traffic: {found.missing}.")
        at_most = target.comparison is Comparison.AT_MOST
        if found.value > target.value if at_most else found.value < target.value:
            got, asked = (_quantity(value, target.unit) for value in (found.value, target.value))
            return f"{found.name} was {got}, {asked} asked"
    return ""


def _figure(evidence: Evidence, target: Target) -> Figure:
    """The target's statistic over this run's own requests, however few they are: one run has no limits to look at."""
    found = registry.metric(target.metric).compute(evidence)
    if not isinstance(found, Samples):
        return found
    if target.statistic == "mean":
        return mean(found, "mean", clustered=True)
    return quantile(found, dict(figures.QUANTILES)[target.statistic], target.statistic, clustered=True)


def _quantity(value: float, unit: str) -> str:
    if unit == "fraction":
        return f"{100 * value:.3g} %"
    if unit != "s":
        return f"{value:.3g} {unit}"
    return f"{value:.3g} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"
