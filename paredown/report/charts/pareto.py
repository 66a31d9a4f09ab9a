"""Speed against what it costs: every candidate a point, the non-dominated ones joined, the chosen one ringed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, line, log_domain, marker, path, shorten, tag, x_axis, y_axis
from paredown.report.charts.labels import Anchor, Box, along, drawn, place

SHAPES = {"SHIP": "circle", "INVESTIGATE": "square", "REJECT": "triangle", "": "cross"}
"""Verdict → marker, so that colour is not the only difference; the empty verdict is the baseline's."""

LONGEST_NAME_PX = 150.0


@dataclass(frozen=True)
class Point:
    """x: smaller is better, y: larger is better. `number` is the candidate's number in the ladder table."""

    number: str
    name: str
    x: float
    y: float
    y_low: float | None
    y_high: float | None
    verdict: str
    chosen: bool
    tip: str


@dataclass(frozen=True)
class Axis:
    """Title of an axis, how a tick reads, and whether it is logarithmic."""

    title: str
    show: Callable[[float], str]
    log: bool = False


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """Points that no other beats in x without losing in y, by rising x."""
    best, kept = float("-inf"), []
    for point in sorted(points, key=lambda p: (p.x, -p.y)):
        if point.y > best:
            best = point.y
            kept.append(point)
    return tuple(kept)


def draw(identity: str, title: str, points: Sequence[Point], x: Axis, y: Axis, width: float, height: float) -> Markup:
    """The chart, `width` × `height` px. Below 400 px points carry their numbers instead of names."""
    area = Box(46, 30, width - 14, height - 46)
    across, zero_at_edge = _x_scale(points, area, log=x.log)
    up = Scale(0, max([1.0, *(p.y_high or p.y for p in points)]) * 1.12, area.bottom, area.top)
    spots = [(p, across(p.x), up(p.y)) for p in sorted(points, key=lambda p: not p.chosen)]
    bars = [_interval(p, px, up) for p, px, _ in spots]

    front = frontier(points)

    def show(tick: float) -> str:
        return "0" if zero_at_edge and tick <= across.low * 1.001 else x.show(tick)

    steps = _steps(front, across, up, area)
    lines = [*along(steps), *along([(area.left, up(1.0)), (area.right, up(1.0))])]
    description = (
        f"{len(points)} points; x: {x.title}, y: {y.title}. Not dominated: {', '.join(p.name for p in front)}."
    )
    return frame(
        identity, title, description, width, height,
        x_axis(across, area.bottom, area.top, show, x.title, 6 if width > 400 else 5),
        y_axis(up, area.left, area.right, y.show, y.title),
        line(area.left, up(1.0), area.right, up(1.0), "reference"),
        path(steps, "frontier") if steps else Markup(""),
        *(tag("g", line(b.left + 1, b.top, b.left + 1, b.bottom, "whisker")) for b in bars if b),
        *(_ring(px, py) for p, px, py in spots if p.chosen),
        *(marker(px, py, SHAPES[p.verdict], _class(p), p.tip) for p, px, py in reversed(spots)),
        _labels(spots, [b for b in bars if b], lines, area, names=width > 400),
    )  # fmt: skip


def _x_scale(points: Sequence[Point], area: Box, *, log: bool) -> tuple[Scale, bool]:
    if not log:
        return Scale(0, max([1.0, *(p.x for p in points)]) * 1.1, area.left, area.right), False
    positive = [p.x for p in points if p.x > 0] or [0.001]
    low, high = log_domain(positive, 1.8)
    zero_at_edge = any(p.x <= 0 for p in points)
    if zero_at_edge:
        low = 10.0 ** math.floor(math.log10(low / 1.8))
    return Scale(low, high, area.left + (8 if zero_at_edge else 0), area.right, log=True), zero_at_edge


def _class(point: Point) -> str:
    return {"SHIP": "ship", "REJECT": "reject", "INVESTIGATE": "investigate", "": "base"}[point.verdict]


def _interval(point: Point, x: float, up: Scale) -> Box | None:
    if point.y_low is None or point.y_high is None:
        return None
    return Box(x - 1, up(point.y_high), x + 1, up(point.y_low))


def _ring(x: float, y: float) -> Markup:
    return tag("circle", cx=x, cy=y, r=11.0, class_="ring")


def _steps(front: Sequence[Point], across: Scale, up: Scale, area: Box) -> list[tuple[float, float]]:
    corners: list[tuple[float, float]] = []
    for point in front:
        x, y = across(point.x), up(point.y)
        corners += [(x, corners[-1][1]), (x, y)] if corners else [(x, y)]
    return [*corners, (area.right, corners[-1][1])] if corners else []


def _labels(
    spots: Sequence[tuple[Point, float, float]],
    obstacles: Sequence[Box],
    lines: Sequence[Box],
    area: Box,
    *,
    names: bool,
) -> Markup:
    anchors = [Anchor(x, y, _label(p, names=names), p.number, 12.0 if p.chosen else 7.0) for p, x, y in spots]
    classes = ["label chosen" if p.chosen else "label" for p, _, _ in spots]
    return drawn(anchors, place(anchors, area, obstacles, lines), classes)


def _label(point: Point, *, names: bool) -> str:
    if not names and point.number:
        return point.number
    return f"{point.number} {shorten(point.name, LONGEST_NAME_PX)}".strip()
