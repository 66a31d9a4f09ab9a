"""Charts of one traffic, from its raw events: distributions of latency, and the requests of an open loop over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown import registry
from paredown.records.events import Block, RequestEvents
from paredown.records.measurement import MeasuredTraffic
from paredown.records.timing import itl_s, succeeded, ttft_s
from paredown.report import units
from paredown.report.charts import latency, timeline
from paredown.report.drawings import Chart, both
from paredown.report.measurement.headline import figure_of

SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
NOTABLE_QUEUE = 1.02
"""Latency from due over latency from sent, at p50 or p95, from which on both curves are drawn."""


@dataclass(frozen=True)
class Distribution:
    """A drawn distribution. remark: percentiles that are not marked, and why; queued: both curves are there."""

    title: str
    drawn: Chart
    remark: str
    marked: bool
    queued: bool = False


def distributions(traffic: MeasuredTraffic, identity: str) -> tuple[Distribution, ...]:
    """TTFT and time between tokens of the raw trial; none where the raw events are kept elsewhere."""
    done = succeeded(traffic.trial.requests()) if traffic.trial else ()
    due = tuple(v for v in map(ttft_s, done) if v > 0)
    sent = tuple(v for r in done if (v := (r.chunks[0].arrived_ns - r.sent_ns) / 1e9) > 0)
    gaps = tuple(v for r in done for v in itl_s(r) if v > 0)
    found = []
    if due:
        queued = bool(sent) and any(_at(due, q) > NOTABLE_QUEUE * _at(sent, q) for q in (0.5, 0.95))
        curves = [latency.Curve("from due", "choice", due)]
        if queued:
            curves.insert(0, latency.Curve("from sent", "base", sent))
        found.append(_distribution(traffic, f"{identity}-ttft", "Time to first token", "ttft", curves, queued=queued))
    if gaps:
        curves = [latency.Curve("between tokens", "choice", gaps)]
        found.append(_distribution(traffic, f"{identity}-itl", "Time between tokens", "itl", curves, queued=False))
    return tuple(found)


def _at(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _distribution(
    traffic: MeasuredTraffic, identity: str, name: str, metric: str, curves: list[latency.Curve], *, queued: bool
) -> Distribution:
    """Marks the percentiles that have both limits: without an upper one, the samples do not carry it."""
    marks, left_out = [], []
    for statistic, share in SHARES.items():
        figure = figure_of(traffic.figures, f"{metric}_{statistic}")
        if figure is None or figure.value is None:
            continue
        if figure.low is None or figure.high is None:
            left_out.append(statistic)
            continue
        tip = f"{figure.name}: {units.figure_text(figure)} ({units.spread_text(figure)})"
        marks.append(latency.Percentile(statistic, "choice", share, figure.value, figure.low, figure.high, tip))
    remark = f"Not marked: {', '.join(left_out)}, which these samples do not bound." if left_out else ""
    drawn = both(lambda i, width: latency.draw(i, name, curves, width, 240, marks), identity, 500)
    return Distribution(name, drawn, remark, bool(marks), queued)


@dataclass(frozen=True)
class Timeline:
    """The requests of one block of an open loop. caption: which ones are drawn."""

    bars: Chart
    counts: Chart
    caption: str
    most_behind: int


def over_time(traffic: MeasuredTraffic, identity: str) -> Timeline | None:
    """None for a closed loop, where nothing is due before it is sent, and without raw events."""
    block = next((b for b in traffic.trial.blocks if b.requests), None) if traffic.trial else None
    if block is None or traffic.trial is None or _closed(traffic.load_shape):
        return None
    requests = _requests(block)
    drawn = len(timeline.shown(requests))
    which = f"{drawn} of {len(requests)} requests" if drawn < len(requests) else f"All {len(requests)} requests"
    if len(traffic.trial.blocks) > 1:
        which += f" of the first of {len(traffic.trial.blocks)} blocks"
    height = {True: 300.0, False: 240.0}
    return Timeline(
        both(lambda i, w: timeline.draw(i, "Each request over time", requests, w), f"{identity}-bars", 500),
        both(
            lambda i, w: timeline.counts(i, "Requests due, begun and ended", requests, w, height[w > 400]),
            f"{identity}-counts", 500,
        ),
        which,
        timeline.most_behind(requests),
    )  # fmt: skip


def _closed(load_shape: str) -> bool:
    return load_shape in registry.names("loadshapes") and registry.load_shape(load_shape).drive is not None


def _requests(block: Block) -> list[timeline.Request]:
    zero = min(r.scheduled_ns for r in block.requests)

    def since(at: int | None) -> float | None:
        return None if at is None else (at - zero) / 1e9

    def ended(request: RequestEvents) -> int | None:
        return request.finished_ns or (request.chunks[-1].arrived_ns if request.chunks else None)

    return [
        timeline.Request(
            r.id, (r.scheduled_ns - zero) / 1e9, (r.sent_ns - zero) / 1e9,
            since(r.chunks[0].arrived_ns) if r.chunks else None, since(ended(r)), r.failure,
        )
        for r in block.requests
    ]  # fmt: skip
