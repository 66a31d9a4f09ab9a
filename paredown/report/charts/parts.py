"""A whole and its parts as bars one above the other, and the small bar in a table's cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, shorten, tag, text, text_width, x_axis

ROW_PX, BAR_PX = 58.0, 26.0
CELL_WIDTH, CELL_HEIGHT = 120.0, 10.0


@dataclass(frozen=True)
class Part:
    """class_: decides the fill (`part-1` … `part-4`, `rest`)."""

    name: str
    value: float
    class_: str
    tip: str


@dataclass(frozen=True)
class Whole:
    name: str
    value: float
    parts: tuple[Part, ...]


def draw(
    identity: str, title: str, wholes: Sequence[Whole], axis_title: str, show: Callable[[float], str], width: float
) -> Markup:
    """One bar for each whole, on one axis from 0; names stand above their bars, figures inside where they fit."""
    left, right, top = 12.0, width - 16.0, 8.0
    bottom = top + ROW_PX * len(wholes)
    longest = max(max(w.value, sum(p.value for p in w.parts)) for w in wholes)
    across = Scale(0, longest * 1.02 or 1.0, left, right)
    parts = []
    for index, whole in enumerate(wholes):
        y = top + ROW_PX * index
        named = f"{whole.name}: {show(whole.value)}"
        parts.append(text(left, y + 15, shorten(named, right - left), "label"))
        parts += _bar(whole, across, y + 22, show)
    told = "; ".join(f"{w.name}: {', '.join(p.tip for p in w.parts)}" for w in wholes)
    return frame(
        identity, title, told, width, bottom + 46, x_axis(across, bottom, top + 22, show, axis_title, 5), *parts
    )


def _bar(whole: Whole, across: Scale, y: float, show: Callable[[float], str]) -> list[Markup]:
    drawn, start = [], 0.0
    for part in whole.parts:
        x, width = across(start), across(start + part.value) - across(start)
        start += part.value
        bar = tag("rect", x=x, y=y, width=max(0.5, width - 1), height=BAR_PX, class_=f"part {part.class_}")
        shown = show(part.value)
        inside = text(x + width / 2, y + BAR_PX / 2 + 4, shown, f"on-part {part.class_}", "middle")
        fits = text_width(shown, 11) + 8 < width
        drawn.append(tag("g", bar, inside if fits else Markup(""), class_="mark bar", data_tip=part.tip))
    return drawn


def cell(share: float, class_: str = "") -> Markup:
    """A bar of `share` (0…1) for a table's cell; the figure stands beside it, so screen readers skip it."""
    filled = min(1.0, max(0.0, share)) * CELL_WIDTH
    return tag(
        "svg",
        tag("rect", x=0, y=0, width=CELL_WIDTH, height=CELL_HEIGHT, class_="cell-ground"),
        tag("rect", x=0, y=0, width=filled, height=CELL_HEIGHT, class_=f"cell-bar {class_}".strip()),
        viewBox=f"0 0 {CELL_WIDTH:g} {CELL_HEIGHT:g}",
        width=CELL_WIDTH,
        height=CELL_HEIGHT,
        class_="cell",
        aria_hidden="true",
    )
