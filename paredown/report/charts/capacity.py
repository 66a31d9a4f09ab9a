"""Loads that were tried, by how their runs went, and the span in which the largest load that holds lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, line, log_domain, marker, tag, text, x_axis

ROW_PX = 34.0
WIDE_RANGE = 8.0
"""Loads that differ by more than this are drawn on a logarithmic axis."""

OUTCOMES = {"met": "every run met", "mixed": "some runs met", "missed": "no run met", "void": "void"}
SHAPES = {"met": ("circle", "ship"), "mixed": ("square", "investigate"), "missed": ("triangle", "reject")}


@dataclass(frozen=True)
class Tried:
    """A load. outcome: a key of OUTCOMES."""

    load: float
    outcome: str
    tip: str


def draw(
    identity: str,
    title: str,
    tried: Sequence[Tried],
    low: float | None,
    high: float | None,
    axis_title: str,
    show: Callable[[float], str],
    width: float,
) -> Markup:
    """A row for each outcome that can be; the band from `low` to `high` is open where one is None."""
    rows = [name for name in OUTCOMES if name != "void" or any(t.outcome == "void" for t in tried)]
    left, right, top = 102.0, width - 16.0, 30.0
    bottom = top + ROW_PX * len(rows)
    across = _scale([t.load for t in tried], left, right)
    start, end = left if low is None else across(low), right if high is None else across(high)
    band = tag("rect", x=start, y=top, width=max(2.0, end - start), height=bottom - top, class_="band")
    edges = [line(x, top, x, bottom, "margin") for x, limit in ((start, low), (end, high)) if limit is not None]
    names = [text(left - 8, top + ROW_PX * (i + 0.5) + 4, OUTCOMES[n], "tick", "end") for i, n in enumerate(rows)]
    marks = []
    for one in tried:
        shape, class_ = SHAPES.get(one.outcome, ("cross", "void"))
        marks.append(marker(across(one.load), top + ROW_PX * (rows.index(one.outcome) + 0.5), shape, class_, one.tip))
    span = f"from {show(low)}" if low is not None else "from below"
    span += f" to {show(high)}" if high is not None else " up, end not found"
    description = f"The capacity lies {span}. " + "; ".join(t.tip.replace("\n", ", ") for t in tried)
    middle = min(max((start + end) / 2, left + 50), right - 50)
    return frame(
        identity, title, description, width, bottom + 46,
        band,
        x_axis(across, bottom, top, show, axis_title, 6 if width > 400 else 5),
        *(line(left, top + ROW_PX * i, right, top + ROW_PX * i, "grid") for i in range(len(rows))),
        *edges, text(middle, top - 8, "capacity lies here", "tick", "middle"), *names, *marks,
    )  # fmt: skip


def _scale(loads: Sequence[float], left: float, right: float) -> Scale:
    positive = [load for load in loads if load > 0]
    if positive and max(positive) > WIDE_RANGE * min(positive):
        return Scale(*log_domain(positive, 1.3), left, right, log=True)
    return Scale(0, max(loads) * 1.12 or 1.0, left, right)
