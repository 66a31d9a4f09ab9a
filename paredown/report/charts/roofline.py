"""Roofline (Williams, Waterman, Patterson 2009): operations a second against operations per byte, both logarithmic.

The roof is what was measured on this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import Scale, frame, line, marker, path, text, text_width, x_axis, y_axis
from paredown.report.charts.labels import Anchor, Box, along, drawn, place
from paredown.report.units import number, rate, tick

# Where along a sloped roof its name may stand, the middle first.
SHARES = (0.5, 0.45, 0.55, 0.4, 0.6, 0.35, 0.65, 0.3, 0.7, 0.25, 0.75, 0.2, 0.8, 0.15, 0.85, 0.1, 0.9, 0.05)


@dataclass(frozen=True)
class Roof:
    """A ceiling: `slope` bytes/s for bandwidth, else `flat` operations/s."""

    name: str
    slope: float | None = None
    flat: float | None = None


@dataclass(frozen=True)
class Spot:
    """A phase of a served model. intensity: operations per byte; speed: operations a second; class_: base, choice.

    low, high: spread of `speed`; None = not known
    """

    name: str
    intensity: float
    speed: float
    shape: str
    class_: str
    tip: str
    low: float | None = None
    high: float | None = None


def draw(
    identity: str, title: str, roofs: Sequence[Roof], spots: Sequence[Spot], width: float, height: float
) -> Markup:
    area = Box(70, 30, width - 14, height - 46)
    across, up = _scales(roofs, spots, area)
    top_flat = max((r.flat for r in roofs if r.flat), default=up.high)
    anchors = [Anchor(across(s.intensity), up(s.speed), s.name) for s in spots]
    spots_taken = [Box(a.x - 8, a.y - 8, a.x + 8, a.y + 8) for a in anchors]
    lines, names, roof_names, along_roofs = [], [], list[Box](), list[Box]()
    drawn_roofs = [
        (roof, [(across(x), up(y)) for x, y in _ends(roof, across, top_flat)])
        for roof in sorted(roofs, key=lambda r: r.flat or 0.0)
    ]
    for roof, pixels in drawn_roofs:
        lines.append(path(pixels, "roof bandwidth" if roof.slope else "roof matrix"))
        along_roofs += along(pixels)
    for roof, pixels in drawn_roofs:
        name, box = _roof_label(roof, pixels, area, [*spots_taken, *along_roofs, *roof_names])
        names.append(name)
        roof_names.append(box)
    labels = place(anchors, area, roof_names, along_roofs)
    description = "; ".join([*(_roof_text(r) for r in roofs), *(s.tip for s in spots)])
    return frame(
        identity, title, description, width, height,
        x_axis(across, area.bottom, area.top, lambda v: tick(number(v)), "operations per byte read", 5),
        y_axis(up, area.left, area.right, lambda v: tick(rate(v, "op/s")), "operations a second"),
        *lines,
        *names,
        *(_spread(s, across, up) for s in spots if s.low is not None and s.high is not None),
        *(marker(across(s.intensity), up(s.speed), s.shape, s.class_, s.tip) for s in spots),
        drawn(anchors, labels, ["label"] * len(labels)),
    )  # fmt: skip


def _spread(spot: Spot, across: Scale, up: Scale) -> Markup:
    x = across(spot.intensity)
    return line(x, up(spot.low or spot.speed), x, up(spot.high or spot.speed), f"limits {spot.class_}")


def _scales(roofs: Sequence[Roof], spots: Sequence[Spot], area: Box) -> tuple[Scale, Scale]:
    slopes = [r.slope for r in roofs if r.slope]
    flats = [r.flat for r in roofs if r.flat]
    knees = [f / s for f in flats for s in slopes]
    xs = [s.intensity for s in spots] + knees
    ys = [s.speed for s in spots] + flats
    low_x, high_x = min(xs) / 3, max(xs) * 4
    low_y, high_y = min([*ys, *(s * low_x for s in slopes[:1])]) / 2, max(ys) * 3
    return Scale(low_x, high_x, area.left, area.right, log=True), Scale(low_y, high_y, area.bottom, area.top, log=True)


def _ends(roof: Roof, across: Scale, top_flat: float) -> list[tuple[float, float]]:
    if roof.slope:
        stop = min(across.high, top_flat / roof.slope)
        return [(across.low, across.low * roof.slope), (stop, stop * roof.slope)]
    assert roof.flat is not None
    return [(across.low, roof.flat), (across.high, roof.flat)]


def _roof_text(roof: Roof) -> str:
    return f"{roof.name} {rate(roof.slope, 'B/s') if roof.slope else rate(roof.flat or 0.0, 'op/s')}"


def _roof_label(
    roof: Roof, pixels: Sequence[tuple[float, float]], area: Box, taken: Sequence[Box]
) -> tuple[Markup, Box]:
    """Flat roofs are named at their right end, above the line; slopes at a free place under their lower half."""
    content = _roof_text(roof)
    width = text_width(content, 11)
    if roof.flat:
        y, (start, end) = pixels[0][1], (max(area.left, pixels[0][0]), area.right)
        rights = [end - (end - start - width) * share for share in (0, 0.15, 0.3, 0.45, 0.6, 0.8, 1)]
        tries = [Box(right - width, y + dy - 13, right, y + dy) for dy in (-3, 16) for right in rights]
    else:
        (x0, y0), (x1, y1) = pixels
        middles = [(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share) for share in SHARES]
        tries = [Box(x + 10, y + 3, x + 10 + width, y + 16) for x, y in middles]
        tries += [Box(x - 10 - width, y - 16, x - 10, y - 3) for x, y in middles]
        tries = [box for box in tries if box.inside(area)] or tries[:1]
    box = min(tries, key=lambda b: sum(b.overlap(other) for other in taken))
    return text(box.left, box.bottom - 3, content, "tick roof-name"), box
