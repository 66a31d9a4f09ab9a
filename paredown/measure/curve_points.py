"""Figures of the requests at one place of a curve."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from paredown import registry
from paredown.contracts import Evidence
from paredown.measure import figures
from paredown.records.events import Block, RequestEvents, Trial
from paredown.records.figure import Figure, Samples
from paredown.records.timing import failures, succeeded
from paredown.stats.figures import quantile

OnPoint = Callable[[float, str], None]
"""Called as the work goes on: fraction done, 0 … 1, and what is being done."""

SHOWN = ("ttft", "decode_speed")


def seed_of(given: int | None) -> int:
    """The given one, else one that was never used: a server may still hold the prompts of the last time."""
    return time.time_ns() if given is None else given


def trial_of(requests: Sequence[RequestEvents], *, concurrency: int) -> Trial:
    return Trial("", "", concurrency, (Block(0, tuple(requests), None, None, None, fresh_process=False),))


def latency_figures(trial: Trial) -> tuple[Figure, ...]:
    """TTFT (percentiles and mean), decode speed, and how fast prompts were read."""
    metrics = [registry.metric(name) for name in SHOWN]
    return (*figures.compute(Evidence(trial), metrics), prefill_speed(trial))


def prefill_speed(trial: Trial) -> Figure:
    """Median over requests of prompt tokens / (c_1 − t_sent): the first decoded token is part of it."""
    done = succeeded(trial.requests())
    values = [
        request.prompt_tokens / (request.chunks[0].arrived_ns - request.sent_ns) * 1e9
        for request in done
        if request.prompt_tokens and request.chunks[0].arrived_ns > request.sent_ns
    ]
    missing = "" if values else ("the server does not count prompt tokens" if done else "no request succeeded")
    samples = Samples("prefill_speed", "tok/s", tuple(values), (0,) * len(values), missing)
    return quantile(samples, 0.5, "", clustered=trial.concurrency != 1)


def failure_sentence(trial: Trial, of: int) -> str:
    """`2 of 8 requests failed (2 status_503)`; empty when none did."""
    counts = failures(trial)
    if not counts:
        return ""
    named = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{sum(counts.values())} of {of} requests failed ({named})"
