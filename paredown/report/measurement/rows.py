"""Rows of the other tables: failures, points of a curve, loads of a capacity search, operators, parts of the memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.records.events import Memory
from paredown.records.figure import Figure
from paredown.records.measurement import Capacity, CapacityPoint, Curve, CurvePoint, MeasuredTraffic, OperatorTable
from paredown.report import units
from paredown.report.measurement.headline import figure_of, meaning, reason

COLUMNS = {
    "load": ("output_throughput", "ttft_p50", "ttft_p95", "goodput", "tpot_p95"),
    "context_length": ("ttft_p50", "ttft_p95", "decode_speed", "prefill_speed"),
    "kv_pressure": ("ttft_p50", "ttft_p95", "decode_speed"),
    "prefix_cache": ("ttft_p50", "ttft_p95", "prefix_cache_hit_rate"),
}
MOST_COLUMNS = 5
MOST_OPERATORS = 12
OUTCOME_WORDS = {"met": "every run met", "mixed": "some runs met", "missed": "no run met", "void": "void"}


@dataclass(frozen=True)
class FailureRow:
    name: str
    meaning: str
    count: int
    share: str


def failures(traffic: MeasuredTraffic) -> tuple[FailureRow, ...]:
    ordered = sorted(traffic.failures.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        FailureRow(name, meaning(name), count, units.percent(count / traffic.requests) if traffic.requests else "")
        for name, count in ordered
    )


@dataclass(frozen=True)
class Cell:
    """state: `known`, `void`, `missing` or `none` (the point has no such figure)."""

    value: str
    spread: str = ""
    state: str = "known"


@dataclass(frozen=True)
class PointRow:
    label: str
    cells: tuple[Cell, ...]
    outcome: tuple[str, ...]
    void: str


@dataclass(frozen=True)
class CurveTable:
    columns: tuple[str, ...]
    rows: tuple[PointRow, ...]
    has_outcome: bool


def curve_table(curve: Curve) -> CurveTable:
    """The figures that the curve is about; for a curve of another name the first five that any point has."""
    there = list(dict.fromkeys(f.name for point in curve.points for f in point.figures))
    wanted = [name for name in COLUMNS.get(curve.name, ()) if name in there]
    columns = tuple(wanted or _spread_first(there))[:MOST_COLUMNS]
    rows = tuple(_point_row(point, columns) for point in curve.points)
    return CurveTable(columns, rows, any(row.outcome for row in rows))


def _spread_first(names: Sequence[str]) -> list[str]:
    """Means come last: a median and a p95 say more."""
    return sorted(names, key=lambda name: name.endswith("_mean"))


def _point_row(point: CurvePoint, columns: Sequence[str]) -> PointRow:
    outcome = [f"void: {reason(point.void)}"] if point.void else []
    outcome += [point.outcome] if point.outcome else []
    if point.failures:
        classes = ", ".join(f"{count} {name}" for name, count in sorted(point.failures.items()))
        outcome.append(f"failed: {classes}")
    return PointRow(
        point.label, tuple(cell(point.figure(name), point.void) for name in columns), tuple(outcome), point.void
    )


def cell(figure: Figure | None, void: str = "") -> Cell:
    """A figure of a void trial is named void and not shown."""
    if figure is None:
        return Cell("", state="none")
    if figure.value is None:
        return Cell(units.missing_text(figure.missing), state="missing")
    if void or figure.void:
        return Cell("void", state="void")
    return Cell(units.value_text(figure.value, figure.unit), units.spread_text(figure))


def outcome(point: CapacityPoint) -> str:
    """`met`, `mixed`, `missed`, or `void` where no run counts (void runs are not among `runs`)."""
    if point.runs <= 0:
        return "void"
    if point.met >= point.runs:
        return "met"
    return "mixed" if point.met else "missed"


@dataclass(frozen=True)
class LoadRow:
    load: str
    outcome: str
    words: str
    runs: str
    missed: str
    figures: tuple[tuple[str, str], ...]


def load_rows(capacity: Capacity) -> tuple[LoadRow, ...]:
    """By rising load."""
    return tuple(_load_row(capacity, point) for point in sorted(capacity.points, key=lambda p: p.load))


def _load_row(capacity: Capacity, point: CapacityPoint) -> LoadRow:
    told = [f"{point.met} of {point.runs} met"] if point.runs > 0 else []
    runs = ", ".join([*told, *([f"{point.void} void"] if point.void else [])])
    figures = tuple((f.name, cell(f).value) for f in point.figures)
    found = outcome(point)
    return LoadRow(load_text(point.load, capacity.unit), found, OUTCOME_WORDS[found], runs, point.missed, figures)


def limits_text(capacity: Capacity) -> str:
    """`between 4.5 and 6 req/s`, or the one limit that was found."""
    low, high = capacity.low, capacity.high
    if low is not None and high is not None:
        return f"between {units.tick(units.number(low))} and {load_text(high, capacity.unit)}"
    if low is not None:
        return f"at least {load_text(low, capacity.unit)}"
    return f"below {load_text(high, capacity.unit)}" if high is not None else units.missing_text(capacity.note)


def load_text(load: float, unit: str) -> str:
    return units.tick(units.value_text(load, unit))


@dataclass(frozen=True)
class OperatorLine:
    """share: of the time of all operators; None for the framework's, which is no operator's."""

    name: str
    calls: str
    seconds: str
    share: float | None
    share_text: str
    kind: str = "operator"


def operator_lines(table: OperatorTable, most: int = MOST_OPERATORS) -> tuple[OperatorLine, ...]:
    """The dearest ones, the others added up, and what no operator accounts for."""
    top, rest = table.rows[:most], table.rows[most:]
    if len(rest) == 1:
        top, rest = table.rows, ()
    lines = [
        OperatorLine(r.name, f"{r.calls:,}", units.duration(r.self_s), r.share, units.percent(r.share)) for r in top
    ]
    if rest:
        share, seconds = sum(r.share for r in rest), sum(r.self_s for r in rest)
        calls = f"{sum(r.calls for r in rest):,}"
        lines.append(
            OperatorLine(
                f"other {len(rest)} operators", calls, units.duration(seconds), share, units.percent(share), "rest"
            )
        )
    of_wall = units.percent(table.framework_s / table.wall_s) if table.wall_s > 0 else ""
    lines.append(
        OperatorLine(
            "framework, outside operators (of the step)",
            "",
            units.duration(table.framework_s),
            None,
            of_wall,
            "framework",
        )
    )
    return tuple(lines)


@dataclass(frozen=True)
class MemoryPart:
    """class_: as in the chart. bytes None = not separated (`why`)."""

    name: str
    class_: str
    bytes: float | None
    why: str = ""


@dataclass(frozen=True)
class MemoryRow:
    """The peak under one traffic and its parts, the rest last. `excess`: how far the parts add up to more than it."""

    traffic: str
    peak: float
    parts: tuple[MemoryPart, ...]
    excess: float
    remarks: tuple[str, ...]


MEMORY_PARTS = {
    "Weights": ("part-1", "weights_memory", "weights_bytes"),
    "KV cache": ("part-2", "kv_cache_memory", "kv_cache_bytes"),
    "Activations": ("part-3", "activations_memory", "activations_bytes"),
}


def memory_rows(traffics: Sequence[MeasuredTraffic]) -> tuple[MemoryRow, ...]:
    """Traffics whose peak was measured and may be used."""
    rows = []
    for traffic in traffics:
        peak = figure_of(traffic.figures, "peak_memory")
        if peak is not None and peak.value is not None and not traffic.void and not peak.void:
            rows.append(_memory_row(traffic, peak, peak.value))
    return tuple(rows)


def _memory_row(traffic: MeasuredTraffic, figure: Figure, peak: float) -> MemoryRow:
    sampled = [b.memory for b in traffic.trial.blocks if b.memory] if traffic.trial else []
    parts = [
        _part(name, class_, figure_of(traffic.figures, metric), sampled, field)
        for name, (class_, metric, field) in MEMORY_PARTS.items()
    ]
    known = sum(part.bytes for part in parts if part.bytes is not None)
    unknown = [part.name.lower() for part in parts if part.bytes is None]
    why = f"with what was not separated: {', '.join(unknown)}" if unknown else "runtime, libraries and buffers"
    parts.append(MemoryPart("Rest", "rest", max(0.0, peak - known), why))
    remarks = [figure.note] if figure.note else []
    per_token = figure_of(traffic.figures, "kv_bytes_per_token")
    counted = next((m.kv_bytes_per_token for m in sampled if m.kv_bytes_per_token is not None), None)
    size = per_token.value if per_token is not None and per_token.value is not None else counted
    if size is not None:
        remarks.append(f"the KV cache takes {units.size(size)} a token")
    return MemoryRow(traffic.traffic, peak, tuple(parts), max(0.0, known - peak), tuple(remarks))


def _part(name: str, class_: str, figure: Figure | None, sampled: Sequence[Memory], field: str) -> MemoryPart:
    """From the figure; where no metric gives it, the largest of the blocks."""
    if figure is not None:
        return MemoryPart(name, class_, figure.value, figure.missing)
    found = [float(value) for memory in sampled if (value := getattr(memory, field)) is not None]
    return MemoryPart(name, class_, max(found), "") if found else MemoryPart(name, class_, None, "not separated")
