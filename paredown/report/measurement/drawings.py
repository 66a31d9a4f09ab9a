"""Charts of the rest: capacity, parts of the memory, roofline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from paredown.records.bottleneck import Placement
from paredown.records.measurement import Capacity, Profile
from paredown.report import units
from paredown.report.charts import capacity as capacity_chart
from paredown.report.charts import parts, roofline
from paredown.report.drawings import Chart, both
from paredown.report.measurement.headline import title
from paredown.report.measurement.rows import MemoryRow, load_rows, outcome

SAME_ROOF = 1.05
"""Ceilings closer than this factor are drawn as one."""


def capacity(found: Capacity, identity: str) -> Chart | None:
    """None when no load was tried."""
    if not found.points:
        return None
    tried = [
        capacity_chart.Tried(point.load, outcome(point), "\n".join(filter(None, (row.load, row.runs, row.missed))))
        for point, row in zip(sorted(found.points, key=lambda p: p.load), load_rows(found), strict=True)
    ]

    def draw(i: str, width: float) -> Markup:
        name = title(found.axis)
        axis = f"{name.lower()}, {units.unit_name(found.unit)}"
        return capacity_chart.draw(i, f"{name} that was tried", tried, found.low, found.high, axis, _plain, width)

    return both(draw, identity, 900)


def _plain(value: float) -> str:
    return units.tick(units.number(value))


def memory(rows: Sequence[MemoryRow]) -> Chart | None:
    """None when no peak was measured."""
    if not rows:
        return None
    wholes = [
        parts.Whole(
            f"peak under {row.traffic}",
            row.peak,
            tuple(
                parts.Part(p.name, p.bytes, p.class_, f"{p.name}: {units.size(p.bytes)}") for p in row.parts if p.bytes
            ),
        )
        for row in rows
    ]
    return both(
        lambda i, width: parts.draw(i, "Memory and its parts", wholes, "memory", _size, width), "memory-parts", 900
    )


def _size(value: float) -> str:
    return units.tick(units.size(value))


def roofs(profile: Profile) -> Chart | None:
    """Every placement under the ceilings that its floors were worked out with; None without any."""
    placed = [p for p in profile.placements if p.bytes_moved and p.operations and p.measured_s > 0]
    slopes = _distinct(p.bytes_moved / p.memory_floor_s for p in placed if p.memory_floor_s > 0)
    flats = {
        dtype: _distinct(
            p.operations / p.compute_floor_s for p in placed if p.compute_dtype == dtype and p.compute_floor_s
        )
        for dtype in dict.fromkeys(p.compute_dtype for p in placed)
    }
    if not slopes or not any(flats.values()):
        return None
    several = len({p.candidate for p in placed}) > 1
    spots = [
        roofline.Spot(
            f"{p.candidate + ' ' if several else ''}{p.phase} × {p.batch}",
            p.operations / p.bytes_moved, p.operations / p.measured_s,
            "square" if p.phase == "prefill" else "circle", "base" if p.phase == "prefill" else "choice",
            f"{p.phase}, batch {p.batch}: {p.bound.value}\n{units.percent(p.fraction, 0)} of the ceiling, "
            f"{units.duration(p.measured_s)} a step of {p.tokens:,} {'token' if p.tokens == 1 else 'tokens'} a request"
            + (f"\n{quartiles(p)}" if quartiles(p) else ""),
            p.operations / p.high_s if p.high_s else None, p.operations / p.low_s if p.low_s else None,
        )
        for p in placed
    ]  # fmt: skip
    lines = [roofline.Roof("read bandwidth", slope=s) for s in slopes]
    lines += [roofline.Roof(f"{dtype or 'matrix rate'}", flat=rate) for dtype, rates in flats.items() for rate in rates]
    return both(
        lambda i, width: roofline.draw(
            i, "Roofline of this machine", lines, spots, width, 380 if width > 400 else 340
        ),
        "roofline", 640,
    )  # fmt: skip


def quartiles(placement: Placement) -> str:
    """Spread of the measured steps; empty where it is not known."""
    if placement.low_s is None or placement.high_s is None:
        return ""
    return f"quartiles {units.interval_text(placement.low_s, placement.high_s, 's')}, n = {placement.samples}"


def _distinct(values: Iterable[float]) -> list[float]:
    """Smallest and largest of the ceilings; one where they are as good as the same."""
    ordered = sorted(values)
    if not ordered:
        return []
    low, high = ordered[0], ordered[-1]
    return [high] if high < SAME_ROOF * low else [low, high]
