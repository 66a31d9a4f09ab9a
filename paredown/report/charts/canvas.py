"""What the charts are drawn with: SVG elements, scales and axes. All text is escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from paredown.report.units import visible

FONT_PX = 12.0
# Average advance of a wide sans-serif face (DejaVu Sans) in ems: labels are placed for the widest likely face.
ADVANCE_EM = 0.62


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """An element. `data_tip` becomes `data-tip`, `class_` `class`; plain strings among the children are escaped."""
    written = "".join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _attribute(value))
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(child if isinstance(child, Markup) else escape(visible(child)) for child in children)
    # `name` is a literal of this package; attributes and children were escaped above.
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), Markup(written), inner)  # noqa: S704


def _attribute(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else visible(str(value))


def text(x: float, y: float, content: str, class_: str = "", anchor: str = "start") -> Markup:
    return tag("text", content, x=x, y=y, class_=class_ or None, text_anchor=None if anchor == "start" else anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    joined = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return tag("path", d=f"M{joined}{'Z' if closed else ''}", class_=class_)


def marker(x: float, y: float, shape: str, class_: str, tip: str, radius: float = 6.0) -> Markup:
    """A point with a tooltip: `circle`, `square`, `triangle` or `cross`, and an unseen larger area to tap on."""
    r = radius
    if shape == "circle":
        drawn = tag("circle", cx=x, cy=y, r=r)
    elif shape == "square":
        drawn = tag("rect", x=x - r * 0.9, y=y - r * 0.9, width=r * 1.8, height=r * 1.8)
    elif shape == "triangle":
        drawn = path([(x, y - r * 1.15), (x + r, y + r * 0.8), (x - r, y + r * 0.8)], "", closed=True)
    else:
        drawn = tag(
            "path", d=f"M{x - r:.1f} {y - r:.1f}l{2 * r:.1f} {2 * r:.1f}m0 {-2 * r:.1f}l{-2 * r:.1f} {2 * r:.1f}"
        )
    area = tag("circle", cx=x, cy=y, r=14.0, class_="tap")
    return tag("g", drawn, area, class_=f"mark {shape} {class_}".strip(), data_tip=tip)


def frame(identity: str, title: str, description: str, width: float, height: float, *children: Markup) -> Markup:
    """The `<svg>` with its title and description, which screen readers read instead of the drawing."""
    return tag(
        "svg",
        tag("title", title, id=f"{identity}-t"),
        tag("desc", description, id=f"{identity}-d"),
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{identity}-t",
        aria_describedby=f"{identity}-d",
        class_="chart",
    )


def text_width(content: str, font_px: float = FONT_PX) -> float:
    """Width to reserve for `content`, px; East Asian wide characters count as one em."""
    return sum(font_px * (1.0 if ord(c) > 0x2E80 else ADVANCE_EM) for c in content)


def shorten(content: str, width: float, font_px: float = FONT_PX) -> str:
    """`content` cut in the middle with … so that it fits into `width` px; both ends tell candidates apart."""
    if text_width(content, font_px) <= width:
        return content
    keep = max(3, int(width / (font_px * ADVANCE_EM)) - 1)
    head = (keep + 1) // 2
    return f"{content[:head]}…{content[len(content) - (keep - head) :]}"


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] to pixels [start, end], linearly or by logarithm. Values outside are clamped to the ends."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> tuple[float, ...]:
        return _log_ticks(self.low, self.high, most) if self.log else _linear_ticks(self.low, self.high, most)


def _linear_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    raw = (high - low) / max(1, most - 1)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(i * step, 12) for i in range(first, last + 1))


def _log_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    for multiples in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = tuple(
            m * 10.0**d for d in decades for m in multiples if low * (1 - 1e-9) <= m * 10.0**d <= high * 1.000001
        )
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


def log_domain(values: Sequence[float], pad: float = 1.25) -> tuple[float, float]:
    """Limits of a logarithmic axis around positive values, at least half a decade apart."""
    low, high = min(values) / pad, max(values) * pad
    if high / low < 3:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(3), middle * math.sqrt(3)
    return low, high


def x_axis(scale: Scale, y: float, top: float, show: Callable[[float], str], title: str, most: int = 6) -> Markup:
    parts = [line(scale.start, y, scale.end, y, "axis")]
    for tick in scale.ticks(most):
        x = scale(tick)
        parts += [line(x, top, x, y, "grid"), text(x, y + 16, show(tick), "tick", "middle")]
    parts.append(text((scale.start + scale.end) / 2, y + 34, title, "axis-title", "middle"))
    return Markup("").join(parts)


def y_axis(scale: Scale, x: float, right: float, show: Callable[[float], str], title: str, most: int = 7) -> Markup:
    """The title stands above the axis, horizontally: it is read without turning the head, also on a phone."""
    parts = [text(4, scale.end - 10, title, "axis-title")]
    for tick in scale.ticks(most):
        y = scale(tick)
        parts += [line(x, y, right, y, "grid"), text(x - 6, y + 4, show(tick), "tick", "end")]
    return Markup("").join(parts)
