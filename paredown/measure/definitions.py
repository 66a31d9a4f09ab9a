"""One run by the definitions of three tools, so that a figure of ours can be held against one of theirs.

`ours`    the metrics of this package
`vllm`    `vllm bench serve`, from vllm/benchmarks/serve.py (`calculate_metrics`) and
          vllm/benchmarks/lib/endpoint_request_func.py (`async_request_openai_chat_completions`)
`aiperf`  AIPerf 0.13, from aiperf/metrics/types/*.py and aiperf/metrics/metric_dicts.py

A figure has our name for what it measures where we have one, and its note begins with the tool's own. As the tools
do, percentiles are interpolated between samples of all requests together, however few they are, and have no limits.
Latencies of several blocks are pooled; a rate is everything over the sum of the blocks' durations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from paredown import registry
from paredown.contracts import Evidence, Metric
from paredown.errors import UnknownNameError
from paredown.measure import figures
from paredown.records import timing
from paredown.records.events import RequestEvents, Trial
from paredown.records.figure import Figure

STATISTICS = (("mean", None), *figures.QUANTILES)
OUR_METRICS = (
    "ttft",
    "ttft_sent",
    "itl",
    "tpot",
    "e2e",
    "decode_speed",
    "output_throughput",
    "request_throughput",
    "goodput",
    "good_fraction",
)


@dataclass(frozen=True)
class DefinitionSet:
    """Whose definitions, where they were read, and what its figures are made by."""

    name: str
    summary: str
    source: str
    figures: Callable[[Trial, Mapping[str, float]], Sequence[Figure]]


def compute(name: str, trial: Trial, limits: Mapping[str, float] | None = None) -> tuple[Figure, ...]:
    """The trial's figures by the definitions of one of SETS. Raises UnknownNameError.

    limits: what each request must keep (as `Evidence.limits`), for goodput; none = the tool gives no goodput
    """
    if name not in SETS:
        raise UnknownNameError("set of definitions", name, SETS)
    return tuple(SETS[name].figures(trial, limits or {}))


def _ours(trial: Trial, limits: Mapping[str, float]) -> Sequence[Figure]:
    wanted: list[Metric] = [registry.metric(name) for name in OUR_METRICS]
    if not limits:
        wanted = [metric for metric in wanted if "limits" not in metric.requires]
    return figures.compute(Evidence(trial, limits=limits), wanted)


# ── vLLM ─────────────────────────────────────────────────────────────────────────────────────────────────────────

STREAM_RAN_TO_ITS_END = frozenset({"", "truncated", "no_tokens", "error_object"})
"""Our classes of failure in which no exception reaches vLLM's client: one event with a choice, and it is a success."""


@dataclass(frozen=True)
class _VllmRequest:
    """What its RequestFuncOutput holds, in seconds after the send."""

    events_s: tuple[float, ...]
    output_tokens: int

    @property
    def ttft_s(self) -> float:
        return self.events_s[0]

    @property
    def latency_s(self) -> float:
        return self.events_s[-1]

    @property
    def tpot_s(self) -> float | None:
        if self.output_tokens <= 1:
            return None
        return (self.latency_s - self.ttft_s) / (self.output_tokens - 1)


def _vllm(trial: Trial, limits: Mapping[str, float]) -> Sequence[Figure]:
    seen = [_vllm_request(request) for request in trial.requests() if request.failure in STREAM_RAN_TO_ITS_END]
    done = [request for request in seen if request is not None]
    seconds = sum(_vllm_duration_s(block.requests) for block in trial.blocks if block.requests)
    why = timing.nothing_succeeded(trial)

    def latency(metric: str, values: Sequence[float], note: str, none: str = "") -> list[Figure]:
        return _statistics(metric, "s", values, note, none if done else why)

    def rate(metric: str, unit: str, amount: float, note: str) -> Figure:
        return _rate(metric, unit, amount if done else None, seconds, len(done), note, why)

    gaps = [b - a for r in done for a, b in itertools.pairwise(r.events_s)]
    tpots = [r.tpot_s for r in done if r.tpot_s is not None]
    found = [
        *latency("ttft", [r.ttft_s for r in done], "TTFT: from the send, to the first event, a role-only one too"),
        *latency("itl", gaps, "ITL: one value a chunk, however many tokens it carries", "no answer has two events"),
        *latency("tpot", tpots, "TPOT: (latency − TTFT)/(tokens − 1)", "no answer has two tokens"),
        *latency("e2e", [r.latency_s for r in done], "E2EL: from the send, to the last event with a choice"),
        rate("output_throughput", "tok/s", sum(r.output_tokens for r in done), "from start to last response"),
        rate("request_throughput", "req/s", len(done), "from start to last response"),
    ]
    if limits.keys() & {"ttft", "tpot", "e2e"}:
        good = sum(_vllm_is_good(request, limits) for request in done)
        said = "request goodput: of successes, on TTFT, TPOT and E2EL only"
        found.append(rate("goodput", "req/s", good, said))
    return found


def _vllm_request(request: RequestEvents) -> _VllmRequest | None:
    """None where no event had a choice, which makes it a failure.

    Events that carried no token count as well, but one: usage comes in an event without a choice, which is the last
    one after the tokens (where the server sends usage with its last choice, one gap of almost nothing is lost).
    """
    empty = sorted(request.empty_ns)
    last_token_ns = request.chunks[-1].arrived_ns if request.chunks else request.sent_ns
    if empty and request.prompt_tokens is not None and empty[-1] >= last_token_ns:
        empty.pop()
    events = sorted([*(chunk.arrived_ns for chunk in request.chunks), *empty])
    if not events:
        return None
    return _VllmRequest(tuple((at - request.sent_ns) / 1e9 for at in events), request.output_tokens)


def _vllm_is_good(request: _VllmRequest, limits: Mapping[str, float]) -> bool:
    """One token has a TPOT of 0 there, which keeps every limit."""
    values = {"ttft": request.ttft_s, "tpot": request.tpot_s or 0.0, "e2e": request.latency_s}
    return all(values[metric] <= limit for metric, limit in limits.items() if metric in values)


def _vllm_duration_s(requests: Sequence[RequestEvents]) -> float:
    """From the start, which is when the first request was due, to the end of the last one, failed ones too."""
    return (max(map(_ended_ns, requests)) - min(r.scheduled_ns for r in requests)) / 1e9


def _ended_ns(request: RequestEvents) -> int:
    """Of a failed request the last that was seen of it."""
    if request.finished_ns is not None:
        return request.finished_ns
    return max([request.sent_ns, *(chunk.arrived_ns for chunk in request.chunks), *request.empty_ns])


# ── AIPerf ───────────────────────────────────────────────────────────────────────────────────────────────────────


AIPERF_VALID = frozenset({"", "truncated"})
"""Our classes of failure in which it has a valid record: some text, and no exception while reading the stream."""


AIPERF_TOKENS = (
    "output_token_throughput: from first send to last response; tokens as the server counts them "
    "(--use-server-token-count; by default it tokenizes the text again)"
)


def _aiperf(trial: Trial, limits: Mapping[str, float]) -> Sequence[Figure]:
    blocks = [[r for r in block.requests if r.failure in AIPERF_VALID and r.chunks] for block in trial.blocks]
    done = [request for block in blocks for request in block]
    seconds = sum(map(_aiperf_duration_s, filter(None, blocks)))
    why = timing.nothing_succeeded(trial)

    def latency(metric: str, values: Sequence[float], note: str, none: str = "") -> list[Figure]:
        return _statistics(metric, "s", values, note, none if done else why)

    def rate(metric: str, unit: str, amount: float, note: str) -> Figure:
        return _rate(metric, unit, amount if done else None, seconds, len(done), note, why)

    gaps = [gap for r in done if (gap := _aiperf_itl_s(r)) is not None]
    second = [(r.chunks[1].arrived_ns - r.chunks[0].arrived_ns) / 1e9 for r in done if len(r.chunks) > 1]
    none = "no answer has two tokens"
    per_user = "output_token_throughput_per_user: 1 / inter-token latency, one value a request"
    found = [
        *latency("ttft", [_since_sent_s(r, 0) for r in done], "time_to_first_token: from the send, to the first text"),
        *latency("time_to_second_token", second, "time_to_second_token: c_2 − c_1", "no answer has two chunks"),
        *latency("itl", gaps, "inter_token_latency: one mean a request, (latency − TTFT)/(tokens − 1)", none),
        *latency("e2e", [_since_sent_s(r, -1) for r in done], "request_latency: from the send, to the last text"),
        *_statistics("decode_speed", "tok/s", [1.0 / gap for gap in gaps if gap > 0], per_user, none if done else why),
        rate("output_throughput", "tok/s", sum(r.output_tokens for r in done), AIPERF_TOKENS),
        rate("request_throughput", "req/s", len(done), "request_throughput: from first send to last response"),
    ]
    if limits.keys() & {"ttft", "itl", "tpot", "e2e"}:
        good = sum(_aiperf_is_good(request, limits) for request in done)
        share = good / len(trial.requests()) if done else None
        found.append(rate("goodput", "req/s", good, "goodput: from the send; no value of a limit breaks it"))
        found.append(Figure("good_fraction", "fraction", share, len(trial.requests()), missing="" if done else why))
    return found


def _since_sent_s(request: RequestEvents, chunk: int) -> float:
    return (request.chunks[chunk].arrived_ns - request.sent_ns) / 1e9


def _aiperf_itl_s(request: RequestEvents) -> float | None:
    """One token is taken for the first chunk's, whatever it carried, unless `--per-chunk-usage` asks the server."""
    if request.output_tokens < 2:
        return None
    return (_since_sent_s(request, -1) - _since_sent_s(request, 0)) / (request.output_tokens - 1)


def _aiperf_is_good(request: RequestEvents, limits: Mapping[str, float]) -> bool:
    itl = _aiperf_itl_s(request)
    values = {"ttft": _since_sent_s(request, 0), "itl": itl, "tpot": itl, "e2e": _since_sent_s(request, -1)}
    held = [(values[metric], limit) for metric, limit in limits.items() if metric in values]
    return all(value is not None and value <= limit for value, limit in held)


def _aiperf_duration_s(done: Sequence[RequestEvents]) -> float:
    """First send to last text, of requests that succeeded."""
    return (max(r.chunks[-1].arrived_ns for r in done) - min(r.sent_ns for r in done)) / 1e9


# ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _statistics(metric: str, unit: str, values: Sequence[float], note: str, none: str) -> list[Figure]:
    if not values:
        return [Figure(metric, unit, None, statistic=name, missing=none) for name, _ in STATISTICS]
    found = [(name, np.mean(values) if q is None else np.quantile(values, q)) for name, q in STATISTICS]
    return [Figure(metric, unit, float(value), len(values), name, note=note) for name, value in found]


def _rate(metric: str, unit: str, amount: float | None, seconds: float, count: int, note: str, none: str) -> Figure:
    if amount is None or seconds <= 0:
        return Figure(metric, unit, None, missing=none if amount is None else "everything came at one moment")
    return Figure(metric, unit, amount / seconds, count, note=note)


SETS: Mapping[str, DefinitionSet] = MappingProxyType(
    {
        "ours": DefinitionSet(
            "ours",
            "from when a request was due; a bundled chunk's gap is shared by its tokens; rates in the steady window",
            "paredown/metrics, paredown/records/timing.py",
            _ours,
        ),
        "vllm": DefinitionSet(
            "vllm",
            "from the send; role-only events count as the first token; one gap a chunk; rates over all the time",
            "vllm-project/vllm: vllm/benchmarks/serve.py, vllm/benchmarks/lib/endpoint_request_func.py",
            _vllm,
        ),
        "aiperf": DefinitionSet(
            "aiperf",
            "from the send; one mean gap a request, over tokens − 1; rates from first send to last response",
            "ai-dynamo/aiperf 0.13: aiperf/metrics/types/, aiperf/metrics/metric_dicts.py",
            _aiperf,
        ),
    }
)
