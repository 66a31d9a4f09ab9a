"""Drop per slice with its one-sided limits against the margin: a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, line, marker, shorten, tag, text, text_width, x_axis
from paredown.report.charts.pareto import SHAPES
from paredown.report.units import NBSP, points

ROW_PX, NARROW_ROW_PX = 34.0, 52.0


@dataclass(frozen=True)
class Row:
    """A slice. Fractions; a limit of None is unbounded. `note` stands in place of the bar when there is no drop."""

    name: str
    gated: bool
    margin: float | None
    drop: float | None
    low: float | None
    high: float | None
    verdict: str
    right: str
    tip: str
    note: str = ""


def draw(identity: str, title: str, rows: Sequence[Row], width: float) -> Markup:
    """One row a slice. Below 400 px the name stands above its bar instead of beside it."""
    narrow = width < 400
    row_px = NARROW_ROW_PX if narrow else ROW_PX
    top, left, right = 24.0, 14.0 if narrow else 190.0, width - 14.0 if narrow else width - 210.0
    bottom = top + row_px * max(1, len(rows))
    across = _scale(rows, left, right)
    drawn = [_row(row, across, top + row_px * (i + 0.5), narrow=narrow, width=width) for i, row in enumerate(rows)]
    description = "; ".join(row.tip for row in rows)
    return frame(
        identity, title, description, width, bottom + 46,
        x_axis(across, bottom, top, lambda t: points(t).partition(NBSP)[0], "drop against the baseline, points", 6),
        line(across(0), top, across(0), bottom, "zero"),
        text(max(across(0) - 8, left), 14, "← better", "tick", "end" if across(0) - left > 60 else "start"),
        text(min(across(0) + 8, right), 14, "worse →", "tick") if across(0) - left > 60 else Markup(""),
        *drawn,
    )  # fmt: skip


def _scale(rows: Sequence[Row], left: float, right: float) -> Scale:
    known = [
        v for r in rows for v in (r.drop, r.low, r.high, r.margin if r.drop is not None else None) if v is not None
    ]
    low, high = min([-0.02, *known]), max([0.02, *known])
    pad = (high - low) * 0.04
    return Scale(max(-1.0, low - pad), min(1.0, high + pad), left, right)


def _row(row: Row, across: Scale, y: float, *, narrow: bool, width: float) -> Markup:
    role = "gate" if row.gated else "watched"
    parts = []
    bar_y = y + 12 if narrow else y
    if narrow:
        name = shorten(f"gate: {row.name}" if row.gated else row.name, width - 36 - text_width(row.right, 10))
        parts += [text(14, y - 6, name, "label"), text(width - 14, y - 6, row.right, "tick", "end")]
    else:
        parts += [text(4, y, shorten(row.name, 178), "label"), text(4, y + 13, role, "tick")]
        parts.append(text(across.end + 14, y + 4, shorten(row.right, 192), "tick"))
    if row.drop is None:
        parts.append(text(across(0) + 6, bar_y + 4, shorten(row.note, across.end - across(0) - 6), "tick missing"))
        return tag("g", *parts)
    shape = {"SHIP": "ship", "REJECT": "reject"}.get(row.verdict, "investigate")
    if row.margin is not None:
        x = across(row.margin)
        parts.append(line(x, bar_y - 11, x, bar_y + 11, "margin gate" if row.gated else "margin"))
    low, high = across.low if row.low is None else row.low, across.high if row.high is None else row.high
    parts.append(line(across(low), bar_y, across(high), bar_y, f"interval {shape}"))
    parts += [
        line(across(end), bar_y - 4, across(end), bar_y + 4, f"interval {shape}")
        for end, limit in ((low, row.low), (high, row.high))
        if limit is not None
    ]
    parts.append(marker(across(row.drop), bar_y, SHAPES[row.verdict], shape, row.tip, 5.0))
    return tag("g", *parts)
