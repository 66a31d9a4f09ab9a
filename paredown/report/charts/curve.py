"""Figures along an axis, each with its limits. A line joins neighbours only; a void point breaks it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, line, log_domain, marker, path, tag, text, text_width, y_axis
from paredown.report.charts.labels import Anchor, Box, along, drawn, place

APART_PX = 3.5
"""Half the distance between the limits of two series at one x, so that neither hides the other."""

SHAPES = ("circle", "square", "triangle")


@dataclass(frozen=True)
class Place:
    """A point of a series. `y` None = no figure, and then `tip` says why.

    low, high:     limits of y (None = unbounded); bounded: whether limits were computed at all
    x_low, x_high: limits of x, where x was measured too
    """

    x: float
    y: float | None
    tip: str
    low: float | None = None
    high: float | None = None
    bounded: bool = True
    x_low: float | None = None
    x_high: float | None = None
    label: str = ""
    void: bool = False

    @property
    def usable(self) -> bool:
        return self.y is not None and not self.void


@dataclass(frozen=True)
class Series:
    """Places in the order in which they are joined; None = one that is nowhere, and breaks the line.

    class_: `base` or `choice`
    """

    name: str
    class_: str
    places: tuple[Place | None, ...]

    @property
    def known(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place is not None)


@dataclass(frozen=True)
class Axis:
    """title: with its unit where the ticks have none; show: how a tick reads; at: ticks that are wanted."""

    title: str
    show: Callable[[float], str]
    log: bool = False
    at: tuple[float, ...] = ()


def draw(identity: str, title: str, series: Sequence[Series], x: Axis, y: Axis, width: float, height: float) -> Markup:
    """The chart, `width` × `height` px. At least one place of one series has a figure that may be used."""
    area = Box(58, 30, width - 16, height - 46)
    across, up = _x_scale(series, x, area), _y_scale(series, y, area)
    shift = _shifts(series)
    parts: list[Markup] = []
    lines: list[Box] = []
    bars: list[Box] = []
    anchors: list[Anchor] = []
    for one in series:
        for run in _unbroken(one.places):
            pixels = [(across(p.x) + shift[one.name], up(p.y or 0.0)) for p in run]
            lines += along(pixels)
            parts.append(path(pixels, f"curve {one.class_}") if len(pixels) > 1 else Markup(""))
    for shape, one in zip(itertools.cycle(SHAPES), series, strict=False):
        for spot in one.known:
            at = across(spot.x) + shift[one.name]
            if not spot.usable or spot.y is None:
                continue
            parts.append(_limits(spot, at, across, up, one.class_))
            bars += _limit_boxes(spot, at, across, up)
            parts.append(marker(at, up(spot.y), shape, one.class_, spot.tip, 4.5))
            anchors.append(Anchor(at, up(spot.y), spot.label))
    named = [anchor for anchor in anchors if anchor.text]
    unnamed = [Box(a.x - 6, a.y - 6, a.x + 6, a.y + 6) for a in anchors if not a.text]
    labels = place(named, area, [*bars, *unnamed], lines)
    return frame(
        identity, title, _description(series, x, y), width, height,
        _x_ticks(across, area, x), y_axis(up, area.left, area.right, y.show, y.title, 6),
        line(area.left, area.bottom, area.right, area.bottom, "axis"),
        *parts, *_crosses(series, across, area.bottom), drawn(named, labels, ["tick"] * len(labels)),
    )  # fmt: skip


def _shifts(series: Sequence[Series]) -> dict[str, float]:
    """Series at the same x stand a little apart; where x was measured too, every point stays where it is."""
    measured = any(p.x_low is not None for s in series for p in s.known)
    step = 0.0 if measured else 2 * APART_PX
    return {s.name: (i - (len(series) - 1) / 2) * step for i, s in enumerate(series)}


def _crosses(series: Sequence[Series], across: Scale, y: float) -> list[Markup]:
    """One on the axis for each x at which a series has nothing to show."""
    told: dict[tuple[float, str], list[str]] = {}
    for one in series:
        for spot in one.known:
            if not spot.usable:
                told.setdefault((spot.x, "void" if spot.void else "absent"), []).append(spot.tip)
    return [marker(across(x), y, "cross", class_, "\n".join(tips), 5.0) for (x, class_), tips in told.items()]


def _limit_boxes(spot: Place, at: float, across: Scale, up: Scale) -> list[Box]:
    boxes = []
    if spot.bounded:
        high = up.end if spot.high is None else up(spot.high)
        boxes.append(Box(at - 3, high, at + 3, up.start if spot.low is None else up(spot.low)))
    if spot.x_low is not None and spot.x_high is not None:
        y = up(spot.y or 0.0)
        boxes.append(Box(across(spot.x_low), y - 3, across(spot.x_high), y + 3))
    return boxes


def _unbroken(places: Sequence[Place | None]) -> list[list[Place]]:
    """Runs of neighbours that all have a figure."""
    runs: list[list[Place]] = [[]]
    for spot in places:
        if spot is not None and spot.usable:
            runs[-1].append(spot)
        else:
            runs.append([])
    return [run for run in runs if run]


def _limits(spot: Place, at: float, across: Scale, up: Scale, class_: str) -> Markup:
    """Upright limits of y and level ones of x; an unbounded side runs to the edge and ends in an arrow."""
    parts = []
    if spot.bounded:
        low = up.start if spot.low is None else up(spot.low)
        high = up.end if spot.high is None else up(spot.high)
        parts.append(line(at, low, at, high, f"limits {class_}"))
        for edge, limit, away in ((low, spot.low, -5), (high, spot.high, 5)):
            if limit is None:
                parts.append(path([(at - 4, edge + away), (at, edge), (at + 4, edge + away)], f"limits {class_}"))
            else:
                parts.append(line(at - 4, edge, at + 4, edge, f"limits {class_}"))
    if spot.x_low is not None and spot.x_high is not None:
        y = up(spot.y or 0.0)
        parts.append(line(across(spot.x_low), y, across(spot.x_high), y, f"limits {class_}"))
        parts += [line(across(e), y - 4, across(e), y + 4, f"limits {class_}") for e in (spot.x_low, spot.x_high)]
    return tag("g", *parts)


def _x_scale(series: Sequence[Series], axis: Axis, area: Box) -> Scale:
    found = [v for s in series for p in s.known for v in (p.x, p.x_low, p.x_high) if v is not None]
    if axis.log:
        low, high = log_domain([v for v in found if v > 0], 1.2)
        return Scale(low, high, area.left, area.right, log=True)
    low, high = min(found), max(found)
    pad = (high - low) * 0.08 or abs(high) * 0.5 or 1.0
    return Scale(max(0.0, low - pad) if low >= 0 else low - pad, high + pad, area.left, area.right)


def _y_scale(series: Sequence[Series], axis: Axis, area: Box) -> Scale:
    usable = [p for s in series for p in s.known if p.usable]
    found = [v for p in usable for v in (p.y, p.low, p.high) if v is not None]
    if axis.log:
        low, high = log_domain([v for v in found if v > 0], 1.25)
        return Scale(low, high, area.bottom, area.top, log=True)
    return Scale(0, max(found) * 1.12 or 1.0, area.bottom, area.top)


def _x_ticks(across: Scale, area: Box, axis: Axis) -> Markup:
    """Ticks at the wanted values where their texts have room, else at round ones."""
    wanted = axis.at or across.ticks(6 if area.right - area.left > 300 else 5)
    parts, free_from = [], -1e9
    for tick in wanted:
        x, shown = across(tick), axis.show(tick)
        half = text_width(shown, 11) / 2
        parts.append(line(x, area.top, x, area.bottom, "grid"))
        if x - half >= free_from:
            parts.append(text(x, area.bottom + 16, shown, "tick", "middle"))
            free_from = x + half + 4
    parts.append(text((area.left + area.right) / 2, area.bottom + 34, axis.title, "axis-title", "middle"))
    return Markup("").join(parts)


def _description(series: Sequence[Series], x: Axis, y: Axis) -> str:
    """Every point in words."""
    told = [f"{s.name}: " + "; ".join(p.tip.replace("\n", ", ") for p in s.known) for s in series]
    return f"{y.title} against {x.title}. " + ". ".join(told)
