"""Places labels beside points so that none covers another label, a point or the frame."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.report.charts.canvas import FONT_PX, line, text, text_width

HEIGHT_PX = FONT_PX + 3
NEAR_PX = 10.0
"""A label further from its point than this gets a line to it."""


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Shared area, px²."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)

    def inside(self, other: Box) -> bool:
        edges = (self.left >= other.left, self.right <= other.right, self.top >= other.top, self.bottom <= other.bottom)
        return all(edges)


@dataclass(frozen=True)
class Anchor:
    """A point that wants a label. `short` replaces `text` where there is no room. Earlier anchors choose first."""

    x: float
    y: float
    text: str
    short: str = ""
    radius: float = 8.0


@dataclass(frozen=True)
class Label:
    """Where a label goes: `box` around the text; `leader` when it is far enough away to need a line to its point."""

    text: str
    box: Box
    leader: bool


def place(
    anchors: Sequence[Anchor], area: Box, obstacles: Sequence[Box] = (), lines: Sequence[Box] = ()
) -> tuple[Label, ...]:
    """One label per anchor, in order: the cheapest place around it, where covering something costs most.

    obstacles: what may not be covered; lines: what had better not be. Greedy: earlier anchors are never moved.
    """
    points = [Box(a.x - a.radius, a.y - a.radius, a.x + a.radius, a.y + a.radius) for a in anchors]
    taken: list[Box] = [*points, *obstacles]
    labels: list[Label] = []
    for anchor in anchors:
        label = _cheapest(anchor, area, taken, lines)
        labels.append(label)
        taken.append(label.box)
    return tuple(labels)


def drawn(anchors: Sequence[Anchor], labels: Sequence[Label], classes: Sequence[str]) -> Markup:
    """The labels as text, each with a line to its point where it stands away from it."""
    parts = []
    for anchor, label, class_ in zip(anchors, labels, classes, strict=True):
        box = label.box
        if label.leader:
            ends = min(max(anchor.x, box.left), box.right), min(max(anchor.y, box.top), box.bottom)
            parts.append(line(anchor.x, anchor.y, *ends, "leader"))
        # The end that faces the point is the exact one: the width is only an upper estimate.
        if box.right < anchor.x:
            parts.append(text(box.right, box.bottom - 4, label.text, class_, "end"))
        elif box.left > anchor.x:
            parts.append(text(box.left, box.bottom - 4, label.text, class_))
        else:
            parts.append(text((box.left + box.right) / 2, box.bottom - 4, label.text, class_, "middle"))
    return Markup("").join(parts)


def along(points: Sequence[tuple[float, float]], step: float = 8.0) -> list[Box]:
    """Small boxes along a line through `points`, so that labels keep off it."""
    boxes = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        pieces = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / step))
        for i in range(pieces + 1):
            x, y = x0 + (x1 - x0) * i / pieces, y0 + (y1 - y0) * i / pieces
            boxes.append(Box(x - 1.5, y - 1.5, x + 1.5, y + 1.5))
    return boxes


def _cheapest(anchor: Anchor, area: Box, taken: Sequence[Box], lines: Sequence[Box]) -> Label:
    least, best = math.inf, None
    for content, shortened in ((anchor.text, 0.0), (anchor.short or anchor.text, 60.0)):
        for distance in (3.0, 10.0, 18.0, 28.0, 40.0, 54.0):
            least_here = distance + shortened + (15.0 if distance > NEAR_PX else 0.0)
            if least_here >= least:
                break
            for box in _around(anchor, content, distance):
                cost = least_here + (0.0 if box.inside(area) else 1e6)
                cost += 50.0 * sum(box.overlap(other) for other in taken)
                if cost < least:
                    cost += 0.15 * sum(box.overlap(other) for other in lines)
                if cost < least:
                    least, best = cost, Label(content, box, leader=distance > NEAR_PX)
    assert best is not None
    return best


def _around(anchor: Anchor, content: str, distance: float) -> list[Box]:
    width, height, r = text_width(content), HEIGHT_PX, anchor.radius + distance
    slant = r * 0.72
    lefts = [anchor.x + r, anchor.x - r - width]
    corners = [(left, anchor.y - height / 2 + shift) for shift in (0.0, -6.0, 6.0) for left in lefts]
    corners += [
        (anchor.x - width / 2, anchor.y - r - height),
        (anchor.x - width / 2, anchor.y + r),
        (anchor.x + slant, anchor.y - slant - height),
        (anchor.x + slant, anchor.y + slant),
        (anchor.x - slant - width, anchor.y - slant - height),
        (anchor.x - slant - width, anchor.y + slant),
    ]
    return [Box(left, top, left + width, top + height) for left, top in corners]
