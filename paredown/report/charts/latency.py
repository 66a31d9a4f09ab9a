"""Latency distributions: the share of requests (or tokens) that took at most so long."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, line, log_domain, path, tag, x_axis, y_axis
from paredown.report.charts.labels import Anchor, Box, along, drawn, place
from paredown.report.units import duration, tick

MOST_STEPS = 120


@dataclass(frozen=True)
class Curve:
    """Samples in seconds of one served model. class_: `base` or `choice`."""

    name: str
    class_: str
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Percentile:
    """A percentile to mark on a curve, with its limits (None = unbounded). share: 0.95 for p95."""

    name: str
    class_: str
    share: float
    seconds: float
    low: float | None
    high: float | None
    tip: str


def draw(
    identity: str,
    title: str,
    curves: Sequence[Curve],
    width: float = 327,
    height: float = 230,
    percentiles: Sequence[Percentile] | None = None,
) -> Markup:
    """Empirical distribution functions over a logarithmic time axis. `curves` hold positive samples.

    Marks `percentiles` with their limits; None = the medians of the curves, without.
    """
    left, right, top, bottom = 42.0, width - 12, 30.0, height - 46
    limits = [v for p in percentiles or () for v in (p.low, p.high) if v is not None]
    every = [s for s in [*(s for curve in curves for s in curve.seconds), *limits] if s > 0]
    low, high = log_domain(every, 1.1)
    across = Scale(low, high, left, right, log=True)
    up = Scale(0, 1, bottom, top)
    description = "; ".join(f"{c.name}: {len(c.seconds)} samples, median {duration(median(c.seconds))}" for c in curves)
    description = "; ".join([description, *(p.tip for p in percentiles or ())])
    steps = [_steps(curve.seconds, across, up) for curve in curves]
    return frame(
        identity, title, description, width, height,
        x_axis(across, bottom, top, lambda v: tick(duration(v)), f"{title} (logarithmic)", 5),
        y_axis(up, left, right, lambda share: f"{100 * share:.0f} %", "share at most this long", 5),
        *(path(corners, f"curve {curve.class_}") for corners, curve in zip(steps, curves, strict=True)),
        *(_percentiles(percentiles, steps, across, up) if percentiles is not None else _medians(curves, across, up)),
    )  # fmt: skip


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _steps(seconds: Sequence[float], across: Scale, up: Scale) -> list[tuple[float, float]]:
    """Corners of the step function, at most MOST_STEPS steps (exact at every step that is kept)."""
    ordered = sorted(seconds)
    stride = max(1, -(-len(ordered) // MOST_STEPS))
    kept = sorted({*range(0, len(ordered), stride), len(ordered) - 1})
    corners = [(across(ordered[0]), up(0))]
    for index in kept:
        x = across(ordered[index])
        share = bisect.bisect_right(ordered, ordered[index]) / len(ordered)
        corners += [(x, corners[-1][1]), (x, up(share))]
    return [*corners, (across.end, corners[-1][1])]


def _medians(curves: Sequence[Curve], across: Scale, up: Scale) -> list[Markup]:
    drawn = []
    for curve in curves:
        x, y = across(median(curve.seconds)), up(0.5)
        tip = f"{curve.name}: median {duration(median(curve.seconds))}, n = {len(curve.seconds)}"
        dot = tag("circle", cx=x, cy=y, r=4.5)
        area = tag("circle", cx=x, cy=y, r=14.0, class_="tap")
        drawn.append(tag("g", dot, area, class_=f"mark dot {curve.class_}", data_tip=tip))
    return drawn


def _percentiles(
    percentiles: Sequence[Percentile], steps: Sequence[Sequence[tuple[float, float]]], across: Scale, up: Scale
) -> list[Markup]:
    parts, anchors, bars = [], [], []
    for mark in percentiles:
        x, y = across(mark.seconds), up(mark.share)
        low = across.start if mark.low is None else across(mark.low)
        high = across.end if mark.high is None else across(mark.high)
        parts.append(line(low, y, high, y, f"limits {mark.class_}"))
        parts += [
            line(end, y - 4, end, y + 4, f"limits {mark.class_}")
            for end, limit in ((low, mark.low), (high, mark.high))
            if limit is not None
        ]
        dot = tag("circle", cx=x, cy=y, r=4.5)
        area = tag("circle", cx=x, cy=y, r=14.0, class_="tap")
        parts.append(tag("g", dot, area, class_=f"mark dot {mark.class_}", data_tip=mark.tip))
        anchors.append(Anchor(x, y, f"{mark.name} {duration(mark.seconds)}", mark.name))
        bars.append(Box(low, y - 4, high, y + 4))
    curves = [box for corners in steps for box in along(corners)]
    # Above the chart there is room beside the title of the axis.
    axis_title = Box(across.start, up.end - 22, across.start + 130, up.end - 6)
    labels = place(anchors, Box(across.start, up.end - 20, across.end, up.start), [*bars, axis_title], curves)
    return [*parts, drawn(anchors, labels, ["label"] * len(labels))]
