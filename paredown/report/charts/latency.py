"""Latency distributions: the share of requests (or tokens) that took at most so long, baseline and choice."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, log_domain, path, tag, text, x_axis, y_axis
from paredown.report.units import duration, tick

MOST_STEPS = 120


@dataclass(frozen=True)
class Curve:
    """Samples in seconds of one served model. class_: `base` or `choice`."""

    name: str
    class_: str
    seconds: tuple[float, ...]


def draw(identity: str, title: str, curves: Sequence[Curve], width: float = 327, height: float = 230) -> Markup:
    """Empirical distribution functions over a logarithmic time axis. `curves` hold positive samples."""
    left, right, top, bottom = 42.0, width - 12, 30.0, height - 46
    every = [s for curve in curves for s in curve.seconds if s > 0]
    low, high = log_domain(every, 1.1)
    across = Scale(low, high, left, right, log=True)
    up = Scale(0, 1, bottom, top)
    description = "; ".join(f"{c.name}: {len(c.seconds)} samples, median {duration(median(c.seconds))}" for c in curves)
    return frame(
        identity, title, description, width, height,
        x_axis(across, bottom, top, lambda v: tick(duration(v)), f"{title} (logarithmic)", 5),
        y_axis(up, left, right, lambda share: f"{100 * share:.0f} %", "share at most this long", 5),
        *(path(_steps(curve.seconds, across, up), f"curve {curve.class_}") for curve in curves),
        *_medians(curves, across, up),
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


def empty(width: float = 327) -> Markup:
    return tag(
        "svg", text(8, 20, "no samples", "tick"), viewBox=f"0 0 {width:g} 32", class_="chart", role="presentation"
    )
