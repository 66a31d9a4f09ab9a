"""The prefix cache, cold and warm: two experiments with prompts of one length on processes of their own.

Cold: no prompt begins like one that was sent before. Warm: every prompt was sent once before it is measured. Mixed up,
they make TTFT look many times better or worse than a user will see it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from paredown import registry
from paredown.contracts import Evidence
from paredown.errors import UserError
from paredown.measure import curve_points, server_metrics, void
from paredown.measure.curve_points import OnPoint
from paredown.measure.load import SendSettings, drive, raise_if_all_failed
from paredown.measure.running import Running, Start
from paredown.measure.server_metrics import Growth
from paredown.records.events import RequestEvents
from paredown.records.figure import Figure
from paredown.records.measurement import Curve, CurvePoint
from paredown.records.timing import failures, succeeded, ttft_s
from paredown.records.traffic import TrafficRequest
from paredown.traffic import synthetic
from paredown.traffic.tokens import Tokens

HIT_RATE = "prefix_cache_hit_rate"
SEEN_IN_TTFT = 0.8
"""A cache that saves less than a fifth of TTFT cannot be told from noise with so few prompts."""

SEEN_IN_HITS = 0.1
"""Fewer hits than this are those of the chat template."""


@dataclass(frozen=True)
class PrefixSettings:
    """prompt_tokens: of every prompt, less where the context is shorter; requests: measured in each experiment
    seed: of the prompts; None = new ones every time, which no server can know
    """

    prompt_tokens: int = 1024
    output_tokens: int = 8
    requests: int = 8
    request_timeout_s: float = 300.0
    seed: int | None = None


@dataclass(frozen=True)
class _Experiment:
    events: tuple[RequestEvents, ...]
    hit_rate: Figure

    @property
    def ttft_s(self) -> float | None:
        first = [ttft_s(request) for request in succeeded(self.events)]
        return statistics.median(first) if first else None


def run(start: Start, tokens: Tokens, settings: PrefixSettings | None = None, on_point: OnPoint | None = None) -> Curve:
    """The curve `prefix_cache` with the points `cold` and `warm`. Raises EngineError, and UserError where the context
    has no room for a prompt and an answer.
    """
    settings = settings or PrefixSettings()
    settings = replace(settings, seed=curve_points.seed_of(settings.seed))
    tell = on_point or (lambda _done, _doing: None)
    tell(0.0, "prompts that were never sent before")
    with start() as running:
        length = _length(running, tokens, settings)
        cold = _experiment(running, tokens, settings, length, is_warm=False)
        forced = running.dialect.ignore_eos
    tell(0.4, "prompts that were sent before")
    with start() as running:
        warm = _experiment(running, tokens, settings, length, is_warm=True)
    void_cold = void.reason([cold.events], forced_lengths=forced)
    points = (
        _point(0.0, "cold", cold, "no prompt began like one before", void_cold),
        _point(1.0, "warm", warm, verdict(cold.ttft_s, warm.ttft_s, warm.hit_rate.value), ""),
    )
    how = f"prompts of {length:,} tokens, {settings.requests} in each experiment, one at a time"
    return Curve("prefix_cache", "prefix cache", "", points, (how,))


def verdict(cold_ttft_s: float | None, warm_ttft_s: float | None, hit_rate: float | None) -> str:
    """What TTFT and the server's own count say together, in a sentence."""
    if not cold_ttft_s or warm_ttft_s is None:
        return "every prompt was sent before; TTFT cannot be compared, because requests failed"
    share = warm_ttft_s / cold_ttft_s
    is_faster = share < SEEN_IN_TTFT
    ttft = f"TTFT is {share:.0%} of that of the cold cache"
    if hit_rate is None:
        if is_faster:
            return f"{ttft}: prefixes are kept, though the server does not count hits"
        return f"no prefix cache seen: {ttft}, and the server does not count hits"
    hits = f"{hit_rate:.0%} of the prompt tokens came from the prefix cache by the server's count"
    if hit_rate < SEEN_IN_HITS:
        return f"{hits}, yet {ttft}" if is_faster else f"no prefix cache seen: {hits}, and {ttft}"
    return f"{hits}; {ttft}" if is_faster else f"{hits}, yet {ttft}"


def _length(running: Running, tokens: Tokens, settings: PrefixSettings) -> int:
    told = [size for size in (tokens.context_length, server_metrics.context_window(running)) if size]
    room = min(told, default=settings.prompt_tokens + settings.output_tokens) - settings.output_tokens
    shortest = synthetic.shortest(tokens)
    if room < shortest:
        raise UserError(
            f"The context has room for a prompt of {max(room, 0):,} tokens beside an answer of "
            f"{settings.output_tokens}, and the shortest prompt has {shortest}: ask for shorter answers."
        )
    return max(shortest, min(settings.prompt_tokens, room))


def _experiment(
    running: Running, tokens: Tokens, settings: PrefixSettings, length: int, *, is_warm: bool
) -> _Experiment:
    """Warm up with other prompts, send these once if they are to be known, then measure."""
    sending = SendSettings(ignore_eos=True, timeout_s=settings.request_timeout_s)
    single = registry.load_shape("single_stream")
    seed = ((settings.seed or 0) << 20) + 2 * int(is_warm)
    others, prompts = (
        _prompts(tokens, settings, length, count, seed + i) for i, count in enumerate((2, settings.requests))
    )
    raise_if_all_failed(drive(running, single, {}, others, sending), "warming up")
    if is_warm:
        drive(running, single, {}, tuple(replace(r, id=f"{r.id}-before") for r in prompts), sending)
    before = server_metrics.scrape(running)
    events = drive(running, single, {}, prompts, sending)
    return _Experiment(events, _hit_rate(events, Growth(before, server_metrics.scrape(running))))


def _prompts(
    tokens: Tokens, settings: PrefixSettings, length: int, count: int, seed: int
) -> tuple[TrafficRequest, ...]:
    return synthetic.make(
        tokens, [length] * count, output_tokens=settings.output_tokens, seed=seed, name=f"prefix-{seed}"
    )


def _hit_rate(events: Sequence[RequestEvents], growth: Growth) -> Figure:
    """By `usage` of these requests, else by the server's counters, else missing."""
    trial = curve_points.trial_of(events, concurrency=1)
    by_usage = registry.metric(HIT_RATE).compute(Evidence(trial))
    assert isinstance(by_usage, Figure)
    if by_usage.value is not None:
        return by_usage
    counted = growth.prefix_hit_rate
    if counted is not None:
        note = "by the server's /metrics, which counts the requests of everybody"
        return Figure(HIT_RATE, "fraction", counted, len(events), note=note)
    why = growth.before.missing or "the server counts no hits in /metrics"
    return Figure(HIT_RATE, "fraction", None, missing=f"no cached_tokens in usage; {why}")


def _point(x: float, label: str, found: _Experiment, sentence: str, void_reason: str) -> CurvePoint:
    trial = curve_points.trial_of(found.events, concurrency=1)
    failed = curve_points.failure_sentence(trial, len(found.events))
    return CurvePoint(
        x,
        label,
        (*curve_points.latency_figures(trial), found.hit_rate),
        failures(trial),
        void_reason,
        "; ".join(filter(None, (sentence, failed))),
    )
