"""The optimization triangle: speed, cost and quality of the choice against the baseline, on one logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import frame, line, marker, path, tag, text
from paredown.report.units import ratio, tick

RINGS = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Corner:
    """An axis. better: ratio to the baseline, above 1 is better; None = not measured (`tip` says why)."""

    name: str
    better: float | None
    label: str
    tip: str


def draw(identity: str, title: str, corners: Sequence[Corner], width: float = 327, height: float = 290) -> Markup:
    centre, longest = (width / 2, height * 0.575), height * 0.46
    highest = max([2.0, *(c.better for c in corners if c.better)])
    rings = [r for r in RINGS if r <= highest * 1.3]
    top = max(rings[-1], highest)

    def at(index: int, better: float) -> tuple[float, float]:
        share = max(0.06, (math.log2(better) + 2) / (math.log2(top) + 2)) if better > 0 else 0.06
        angle = -math.pi / 2 + index * 2 * math.pi / 3
        return centre[0] + longest * share * math.cos(angle), centre[1] + longest * share * math.sin(angle)

    known = [(at(i, c.better), c) for i, c in enumerate(corners) if c.better is not None]
    return frame(
        identity, title, "; ".join(c.tip for c in corners), width, height,
        *(path([at(i, r) for i in range(3)], "ring-line one" if r == 1 else "ring-line", closed=True) for r in rings),
        *(line(*centre, *at(i, top), "grid" if c.better else "grid unknown") for i, c in enumerate(corners)),
        *(text(at(0, r)[0] + 6, at(0, r)[1] + 11, tick(ratio(r)), "tick") for r in rings if r != 0.5),
        path([at(i, 1.0) for i in range(3)], "triangle base", closed=True),
        path([point for point, _ in known], "triangle choice", closed=True) if len(known) > 1 else Markup(""),
        *(marker(*point, "circle", "choice", corner.tip, 4.5) for point, corner in known),
        *_names(corners, width, height),
    )  # fmt: skip


def _names(corners: Sequence[Corner], width: float, height: float) -> list[Markup]:
    places = ((width / 2, 14.0, "middle"), (width - 4, height - 22, "end"), (4.0, height - 22, "start"))
    drawn = []
    for corner, (x, y, anchor) in zip(corners, places, strict=True):
        value = corner.label if corner.better is not None else "not measured"
        if anchor == "middle":
            drawn.append(text(x, y, f"{corner.name} {value}", "label", anchor))
        else:
            drawn.append(tag("g", text(x, y, corner.name, "label", anchor), text(x, y + 15, value, "label", anchor)))
    return drawn
