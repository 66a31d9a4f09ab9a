"""What a server does when its KV cache gets full: requests sent together whose prompts and answers take half of it,
nearly all of it, all of it, and more than there is.

A server may serve them together, let some wait, preempt some and compute them again, refuse some, or run out of
memory. None of these is an error here: each is an outcome of its point.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paredown import registry
from paredown.errors import EngineError, EngineHung, EngineOutOfMemory
from paredown.hosts.failures import says_out_of_memory
from paredown.measure import curve_points, server_metrics
from paredown.measure.curve_points import OnPoint
from paredown.measure.load import SendSettings, drive, raise_if_all_failed
from paredown.measure.running import Running, Start
from paredown.measure.server_metrics import PREEMPTIONS, Growth
from paredown.records.events import RequestEvents
from paredown.records.measurement import Curve, CurvePoint
from paredown.records.timing import failures, itl_s, succeeded, ttft_s
from paredown.traffic import synthetic
from paredown.traffic.tokens import Tokens

AXIS = "positions asked for, of those that the KV cache holds"
ANSWER_SHARE = 4
"""A quarter of each request is its answer: enough that the cache fills while answers are being decoded."""

LONGEST_ANSWER = 256
NOTABLE_TTFT, NOTABLE_TTFT_S = 2.0, 0.05
NOTABLE_PAUSE_S, NOTABLE_PAUSE_FACTOR = 0.5, 20.0
WARM_UP_TOKENS = 16


@dataclass(frozen=True)
class PressureSettings:
    """capacity_tokens: positions that the cache holds; None = what the server says
    shares: of the capacity, that all requests of a point take together
    requests: that together fill the cache once, at least; more where a context is too short for it
    most_requests: points with more requests in flight are left out
    budget_s: points that would go beyond it are left out
    seed: of the prompts; None = new ones every time, which no server can know
    """

    capacity_tokens: int | None = None
    shares: tuple[float, ...] = (0.5, 0.9, 1.0, 1.3)
    requests: int = 8
    most_requests: int = 512
    budget_s: float = 1800.0
    request_timeout_s: float = 900.0
    seed: int | None = None


@dataclass(frozen=True)
class Capacity:
    """Positions that the cache holds, and who says so; `tokens` None = not known, `source` says why."""

    tokens: int | None
    source: str


def run(
    start: Start,
    tokens: Tokens,
    settings: PressureSettings | None = None,
    on_point: OnPoint | None = None,
    *,
    now_ns: Callable[[], int] = time.monotonic_ns,
) -> Curve:
    """The curve `kv_pressure`; without points where the capacity is not known (a note says what to give).

    Raises EngineError when the engine does not start or does not answer a single short request.
    """
    settings = settings or PressureSettings()
    seed = curve_points.seed_of(settings.seed)
    with start() as running:
        single = registry.load_shape("single_stream")
        shortest = synthetic.shortest(tokens)
        short = synthetic.make(
            tokens,
            [max(shortest, WARM_UP_TOKENS)] * 2,
            output_tokens=WARM_UP_TOKENS,
            seed=seed << 20,
            name="warm-up",
        )
        raise_if_all_failed(drive(running, single, {}, short, _sending(settings)), "warming up")
        capacity = capacity_of(running, settings.capacity_tokens)
        if capacity.tokens is None:
            return Curve("kv_pressure", AXIS, "fraction", (), (capacity.source,))
        told = [size for size in (tokens.context_length, server_metrics.context_window(running)) if size]
        experiment = _Experiment(
            running, tokens, settings, seed, capacity.tokens, min(told, default=None), shortest, now_ns
        )
        return experiment.curve(capacity, on_point or (lambda _done, _doing: None))


def capacity_of(running: Running, given: int | None) -> Capacity:
    """By the user's word, our own host's, or the server's metrics; to be asked after a first answer."""
    if given is not None:
        return Capacity(given, f"the cache is taken to hold {given:,} positions, as was asked for")
    info = running.host_info()
    if info is not None and info.kv_capacity_tokens:
        return Capacity(
            info.kv_capacity_tokens, f"the cache holds {info.kv_capacity_tokens:,} positions, as the engine says"
        )
    if info is not None:
        return Capacity(
            None,
            "How many positions the KV cache holds is not known: this engine takes as many as memory holds. Give the "
            "number of positions to fill: --kv-capacity TOKENS.",
        )
    page = server_metrics.scrape(running)
    found = server_metrics.kv_capacity_tokens(page)
    if found:
        return Capacity(found, f"the cache holds {found:,} positions, as the server's /metrics says")
    why = page.missing or "the server's /metrics does not tell"
    return Capacity(None, f"How many positions the KV cache holds is not known ({why}). Give it: --kv-capacity TOKENS.")


@dataclass(frozen=True)
class Shape:
    """What is sent at one point: so many requests at once, each with such a prompt and answer."""

    requests: int
    prompt_tokens: int
    output_tokens: int

    @property
    def positions(self) -> int:
        return self.requests * (self.prompt_tokens + self.output_tokens)


def shape_of(capacity: int, share: float, requests: int, window: int | None, shortest: int) -> Shape:
    """Equal requests that take that share of the capacity together: longest ones, so that few are in flight."""
    longest = max(capacity // requests, 1)
    if window is not None:
        longest = min(longest, window)
    count = max(1, math.ceil(share * capacity / longest - 1e-9))
    each = max(round(share * capacity / count), shortest + 1)
    answer = max(1, min(LONGEST_ANSWER, each // ANSWER_SHARE, each - shortest))
    return Shape(count, each - answer, answer)


class _Experiment:
    """One point after the other on one running server."""

    def __init__(
        self,
        running: Running,
        tokens: Tokens,
        settings: PressureSettings,
        seed: int,
        capacity: int,
        window: int | None,
        shortest: int,
        now_ns: Callable[[], int],
    ) -> None:
        self._running, self._tokens, self._settings, self._seed = running, tokens, settings, seed
        self._capacity, self._window, self._shortest, self._now_ns = capacity, window, shortest, now_ns
        self._shape = registry.load_shape("closed_loop")
        self._notes: list[str] = []
        self._first_ttft_s: float | None = None

    def curve(self, capacity: Capacity, on_point: OnPoint) -> Curve:
        points: list[CurvePoint] = []
        began_ns, last_s, last_share = self._now_ns(), 0.0, 0.0
        for index, share in enumerate(sorted(self._settings.shares)):
            shape = shape_of(self._capacity, share, self._settings.requests, self._window, self._shortest)
            elapsed_s = (self._now_ns() - began_ns) / 1e9
            expected_s = last_s * share / last_share if last_share else 0.0
            why = self._why_left_out(shape, elapsed_s + expected_s)
            if why:
                self._notes.append(f"{share:.0%} and more left out: {why}")
                break
            on_point(index / len(self._settings.shares), f"{shape.requests} requests, {share:.0%} of the KV cache")
            point_ns = self._now_ns()
            point, goes_on = self._point(share, shape)
            last_s, last_share = (self._now_ns() - point_ns) / 1e9, share
            points.append(point)
            if not goes_on:
                break
        how = f"requests sent at the same moment, a quarter of each is its answer (at most {LONGEST_ANSWER} tokens)"
        return Curve("kv_pressure", AXIS, "fraction", tuple(points), (capacity.source, how, *self._notes))

    def _why_left_out(self, shape: Shape, until_s: float) -> str:
        settings = self._settings
        if shape.requests > settings.most_requests:
            return (
                f"it takes {shape.requests} requests at once to fill {shape.positions:,} positions, more than "
                f"{settings.most_requests}"
            )
        if until_s > settings.budget_s:
            return f"it would take longer than the time budget of {settings.budget_s:g} s"
        return ""

    def _point(self, share: float, shape: Shape) -> tuple[CurvePoint, bool]:
        """The point, and whether the server still lives."""
        requests = synthetic.make(
            self._tokens,
            [shape.prompt_tokens] * shape.requests,
            output_tokens=shape.output_tokens,
            seed=(self._seed << 20) + 1 + round(1000 * share),
            name=f"pressure-{round(100 * share)}",
        )
        before = server_metrics.scrape(self._running)
        try:
            events = drive(
                self._running, self._shape, {"concurrency": shape.requests}, requests, _sending(self._settings)
            )
        except EngineError as error:
            return self._died(share, shape, error), False
        growth = Growth(before, server_metrics.scrape(self._running))
        return self._lived(share, shape, events, growth), True

    def _died(self, share: float, shape: Shape, error: EngineError) -> CurvePoint:
        if isinstance(error, EngineOutOfMemory):
            kind, words = "out_of_memory", "the engine ran out of memory"
        elif isinstance(error, EngineHung):
            kind, words = "hung", "the engine hung"
        else:
            kind, words = "died", "the engine died"
        self._notes.append("nothing was measured beyond the point at which the engine ended")
        return CurvePoint(
            share,
            _label(share),
            curve_points.latency_figures(curve_points.trial_of((), concurrency=shape.requests)),
            {kind: shape.requests},
            outcome=f"{words} with {_of(shape)}: {error}",
        )

    def _lived(self, share: float, shape: Shape, events: Sequence[RequestEvents], growth: Growth) -> CurvePoint:
        trial = curve_points.trial_of(events, concurrency=shape.requests)
        parts = [f"{_of(shape)}: {_together(events)}", *_what_failed(events), _preempted(growth, events), self._held()]
        first = sorted(map(ttft_s, succeeded(events)))
        if first:
            middle_s = first[len(first) // 2]
            if self._first_ttft_s is None:
                self._first_ttft_s = middle_s
            elif middle_s > NOTABLE_TTFT * self._first_ttft_s and middle_s - self._first_ttft_s > NOTABLE_TTFT_S:
                parts.append(f"TTFT is {middle_s / self._first_ttft_s:.1f} times that of the first point")
        return CurvePoint(
            share,
            _label(share),
            curve_points.latency_figures(trial),
            failures(trial),
            outcome="; ".join(filter(None, parts)),
        )

    def _held(self) -> str:
        """How full it was, by our own host's count."""
        info = self._running.host_info()
        if info is None or info.kv_tokens is None:
            return ""
        return f"at most {info.kv_tokens:,} positions were held so far"


def waited(events: Sequence[RequestEvents]) -> int:
    """Requests whose first token came only after another one had finished: they were not served together."""
    done = succeeded(events)
    count = 0
    for request in done:
        ends = [other.chunks[-1].arrived_ns for other in done if other is not request]
        if ends and request.chunks[0].arrived_ns > min(ends):
            count += 1
    return count


def _together(events: Sequence[RequestEvents]) -> str:
    done, late = len(succeeded(events)), waited(events)
    if not done:
        return "none was answered"
    if not late:
        return "all were served together" if done == len(events) else f"{done} were served together"
    return f"{late} of {len(events)} got their first token only after another had finished"


def _what_failed(events: Sequence[RequestEvents]) -> list[str]:
    """Refused ones by status, those for which memory ran out, and the rest."""
    memory = [r for r in events if r.failure and says_out_of_memory(r.detail)]
    refused = [r for r in events if r.failure.startswith(("status_", "refused")) and r not in memory]
    others = [r for r in events if r.failure and r not in memory and r not in refused]
    parts = []
    for found, words in ((memory, "failed for want of memory"), (refused, "were refused"), (others, "failed")):
        if found:
            parts.append(f"{len(found)} {words} ({_named(found)})")
    return parts


def _named(found: Sequence[RequestEvents]) -> str:
    counts: dict[str, int] = {}
    for request in found:
        counts[request.failure] = counts.get(request.failure, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _preempted(growth: Growth, events: Sequence[RequestEvents]) -> str:
    """By the server's own counter; where it has none, whether an answer stood still for long."""
    counted = growth.of(PREEMPTIONS)
    if counted is not None:
        return f"{counted:.0f} preemptions" if counted else "none was preempted"
    gaps = sorted(gap for request in succeeded(events) for gap in itl_s(request))
    if gaps and gaps[-1] > NOTABLE_PAUSE_S and gaps[-1] > NOTABLE_PAUSE_FACTOR * gaps[len(gaps) // 2]:
        return f"an answer stood still for up to {gaps[-1]:.1f} s"
    return ""


def _of(shape: Shape) -> str:
    return f"{shape.requests} requests of {shape.prompt_tokens + shape.output_tokens:,} positions"


def _label(share: float) -> str:
    return f"{100 * share:.0f} %"


def _sending(settings: PressureSettings) -> SendSettings:
    return SendSettings(ignore_eos=True, timeout_s=settings.request_timeout_s)
