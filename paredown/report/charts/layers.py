"""The loss of each part of a model as a row of bars in the model's order; the largest are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report import units
from paredown.report.charts.canvas import Scale, frame, line, tag, text, text_width, y_axis

HEIGHT = 210.0


@dataclass(frozen=True)
class Bar:
    """short: name below its bar where there is room; marked: one of the largest"""

    name: str
    short: str
    value: float
    marked: bool
    tip: str


def draw(identity: str, title: str, bars: Sequence[Bar], width: float) -> Markup:
    """Bars from zero on one axis of mean KL; below them as many names as fit."""
    left, right, top, bottom = 52.0, width - 8.0, 30.0, HEIGHT - 28.0
    up = Scale(0.0, max((bar.value for bar in bars), default=0.0) * 1.05 or 1.0, bottom, top)
    pitch = (right - left) / max(1, len(bars))
    drawn = [_bar(bar, left + pitch * i, pitch, up, bottom) for i, bar in enumerate(bars)]
    return frame(
        identity,
        title,
        "; ".join(bar.tip for bar in bars),
        width,
        HEIGHT,
        y_axis(up, left, right, lambda value: units.number(value, 2), "mean KL with only this part replaced, nats", 5),
        line(left, bottom, right, bottom, "axis"),
        *drawn,
        *_names(bars, left, pitch, bottom, width),
    )


def _bar(bar: Bar, x: float, pitch: float, up: Scale, bottom: float) -> Markup:
    y, gap = up(bar.value), min(3.0, pitch * 0.2)
    class_ = "layer worst" if bar.marked else "layer"
    filled = tag("rect", x=x + gap / 2, y=y, width=max(1.0, pitch - gap), height=max(0.5, bottom - y), class_=class_)
    area = tag("rect", x=x, y=up.end, width=pitch, height=bottom - up.end, class_="tap")
    return tag("g", filled, area, class_="mark bar", data_tip=bar.tip)


def _names(bars: Sequence[Bar], left: float, pitch: float, bottom: float, width: float) -> list[Markup]:
    """First and last, then as many between them as do not touch."""
    order = [0, len(bars) - 1, *range(1, len(bars) - 1)]
    taken: list[tuple[float, float]] = []
    drawn = []
    for place in dict.fromkeys(order):
        half = text_width(bars[place].short, 11) / 2 + 5
        middle = min(left + pitch * (place + 0.5), width - half)
        if all(middle + half <= start or middle - half >= end for start, end in taken):
            taken.append((middle - half, middle + half))
            drawn.append(text(middle, bottom + 16, bars[place].short, "tick", "middle"))
    return drawn
