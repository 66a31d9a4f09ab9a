"""Raw events of a synthetic server with a few slots and a queue, and the figures that follow from them.

Nothing here was measured: times come from a seed, so that an example shows queueing, failures and a void run.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Mapping, Sequence

from paredown.records import timing
from paredown.records.events import Block, ChunkEvent, Memory, RequestEvents, StartUp, Trial, WarmUp
from paredown.records.figure import Figure, Samples
from paredown.stats.figures import over_blocks, quantile

SECOND = 1_000_000_000
SLOTS, PROMPT_TOKENS, OUTPUT_TOKENS = 4, 180, 32
FIRST_S, GAP_S = 0.085, 0.021


def block(
    index: int,
    due_s: Sequence[float],
    *,
    slots: int = SLOTS,
    late_s: float = 0.0,
    failures: Mapping[int, str] | None = None,
) -> Block:
    """One process that answers requests due at `due_s`, `slots` at a time; `failures` by the number of the request."""
    chance = random.Random(f"{index} {len(due_s)} {late_s}")  # noqa: S311 (figures of an example)
    free = [0.0] * slots
    requests = []
    for number, due in enumerate(due_s):
        sent = due + late_s * chance.uniform(0.5, 1.5) + chance.uniform(2e-4, 1.2e-3)
        begun = max(sent, heapq.heappop(free))
        failure = (failures or {}).get(number, "")
        answered = _request(f"{index}-{number}", due, sent, begun, chance, failure)
        heapq.heappush(free, begun if failure == "status_429" else (answered.finished_ns or 0) / SECOND)
        requests.append(answered)
    return Block(
        index, tuple(requests), StartUp(2 * SECOND, 3 * SECOND, None), memory(index), None, fresh_process=True,
        background_load=0.04, warm_up=WarmUp(8, 6.2, steady=True),
    )  # fmt: skip


def _request(name: str, due: float, sent: float, begun: float, chance: random.Random, failure: str) -> RequestEvents:
    at = begun + FIRST_S * chance.lognormvariate(0, 0.12)
    chunks = []
    for token in range(OUTPUT_TOKENS if not failure else 0):
        chunks.append(ChunkEvent(round(at * SECOND), (token + 100,)))
        at += GAP_S * chance.lognormvariate(0, 0.1)
    ended = chunks[-1].arrived_ns if chunks else round((sent + (0.012 if failure == "status_429" else 4.0)) * SECOND)
    return RequestEvents(
        name, round(due * SECOND), round(sent * SECOND), tuple(chunks), ended, PROMPT_TOKENS, len(chunks),
        OUTPUT_TOKENS, "" if failure else "length", failure, f"the server answered {failure}" if failure else "",
    )  # fmt: skip


def memory(index: int) -> Memory:
    mega = 1_000_000
    return Memory(
        peak_bytes=(803 + index) * mega, sample_period_ms=20, samples=900, before_load_bytes=212 * mega,
        after_load_bytes=481 * mega, high_water_bytes=811 * mega, weights_bytes=269 * mega,
        kv_cache_bytes=(94 + index) * mega, kv_bytes_per_token=23_040.0, activations_bytes=61 * mega,
    )  # fmt: skip


def poisson(rate: float, count: int, seed: int) -> tuple[float, ...]:
    """Seconds at which `count` requests are due, `rate` a second on average."""
    chance, at, due = random.Random(seed), 0.0, []  # noqa: S311 (figures of an example)
    for _ in range(count):
        due.append(at)
        at += chance.expovariate(rate)
    return tuple(due)


def one_after_another(count: int) -> tuple[float, ...]:
    """Far enough apart that none waits."""
    return tuple(index * (FIRST_S + OUTPUT_TOKENS * GAP_S) * 1.6 for index in range(count))


def figures(trial: Trial, limit_s: float = 0.5, *, with_gaps: bool = True) -> tuple[Figure, ...]:
    """What an operator looks at, from the raw events; energy and cost are not measured.

    limit_s: on TTFT, for goodput; with_gaps: the times between tokens too, which take the longest to work out
    """
    clustered = trial.concurrency != 1
    found = []
    for metric, samples in _samples(trial, with_gaps=with_gaps).items():
        wanted = [("p50", 0.5), ("p95", 0.95)] + ([("p99", 0.99)] if len(samples.values) >= 299 else [])
        found += [quantile(samples, q, name, clustered=clustered) for name, q in wanted]
        if metric == "tpot":
            rate = Samples("decode_speed", "tok/s", tuple(1 / v for v in samples.values), samples.blocks)
            found.append(quantile(rate, 0.5, "", clustered=clustered))
    none = "no request succeeded"
    found += [
        over_blocks("output_throughput", "tok/s", trial, lambda b: _rate(b, trial.concurrency), none),
        over_blocks("goodput", "req/s", trial, lambda b: _good(b, limit_s), none),
        *_memory_figures(trial),
        Figure(
            "prefix_cache_hit_rate", "fraction", None, missing="the server does not say what it took from its cache"
        ),
        Figure("energy", "J/tok", None, missing="no energy counter on this machine"),
        Figure("cost", "usd/Mtok", None, missing="no --price-per-hour was given"),
    ]
    return tuple(_void(figure, trial) for figure in found)


def _samples(trial: Trial, *, with_gaps: bool) -> dict[str, Samples]:
    every: dict[str, Callable[[RequestEvents], float | None]] = {
        "ttft": timing.ttft_s,
        "ttft_sent": lambda r: (r.chunks[0].arrived_ns - r.sent_ns) / SECOND,
        "tpot": timing.tpot_s,
        "e2e": timing.e2e_s,
    }
    found = {name: timing.request_samples(name, "s", trial, value, "undefined") for name, value in every.items()}
    if not with_gaps:
        return found
    gaps = [(g, b.index) for b in trial.blocks for r in timing.succeeded(b.requests) for g in timing.itl_s(r)]
    found["itl"] = Samples("itl", "s", tuple(g for g, _ in gaps), tuple(i for _, i in gaps))
    return found


def _rate(found: Block, concurrency: int) -> float | None:
    return timing.output_rate(found, timing.steady_window(found, concurrency))


def _good(found: Block, limit_s: float) -> float | None:
    window = timing.whole_window(found)
    good = sum(timing.ttft_s(request) <= limit_s for request in timing.succeeded(found.requests))
    return good / window.seconds if window else None


def _memory_figures(trial: Trial) -> list[Figure]:
    memories = [b.memory for b in trial.blocks if b.memory]
    peak = float(max(m.peak_bytes for m in memories))
    parts = {
        "weights_memory": "weights_bytes",
        "kv_cache_memory": "kv_cache_bytes",
        "activations_memory": "activations_bytes",
    }

    def part(name: str) -> Callable[[Block], float | None]:
        return lambda b: float(getattr(b.memory, name))

    return [
        Figure("peak_memory", "B", peak, count=len(memories), note="sampled every 20 ms"),
        *(over_blocks(metric, "B", trial, part(field), "not separated") for metric, field in parts.items()),
    ]


def _void(figure: Figure, trial: Trial) -> Figure:
    if not trial.void or figure.value is None:
        return figure
    return Figure(
        figure.metric, figure.unit, figure.value, figure.count, figure.statistic, figure.low, figure.high,
        figure.confidence, note=f"void: {trial.void}",
    )  # fmt: skip


def other_definitions(trial: Trial) -> dict[str, tuple[Figure, ...]]:
    """The same events as two other tools count them: from the send, and a mean per request where AIPerf takes one."""
    done = timing.succeeded(trial.requests())
    sent = [(r.chunks[0].arrived_ns - r.sent_ns) / SECOND for r in done]
    gaps = [g for r in done for g in timing.itl_s(r)]
    means = [sum(timing.itl_s(r)) / len(timing.itl_s(r)) for r in done]
    ends = [(r.chunks[-1].arrived_ns - r.sent_ns) / SECOND for r in done]

    def of(metric: str, note: str, values: Sequence[float]) -> list[Figure]:
        samples = Samples(metric, "s", tuple(values))
        found = [quantile(samples, q, name, clustered=False) for name, q in (("p50", 0.5), ("p95", 0.95))]
        return [Figure(f.metric, "s", f.value, len(values), f.statistic, note=note) for f in found]

    first, gap = "from the send, to the first event, a role-only one too", "one value a chunk"
    last = "from the send, to the last event"
    return {
        "vllm": (*of("ttft", first, [s - 0.004 for s in sent]), *of("itl", gap, gaps), *of("e2e", last, ends)),
        "aiperf": (
            *of("ttft", "from the send, to the first event with content", sent),
            *of("itl", "one mean a request", means),
            *of("e2e", last, ends),
        ),
    }
