"""Figures as rows of a table: what was measured with its limits, and what was not, gathered by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paredown import registry
from paredown.records.figure import Figure
from paredown.report import units
from paredown.report.measurement.headline import figure_of

STATISTICS = ("", "mean", "p50", "p95", "p99")
SHARED_FROM = 2
"""A remark on so many figures stands once under the table instead of beside each."""


@dataclass(frozen=True)
class FigureRow:
    """remarks: what belongs to this figure alone; marks: numbers of the remarks that it shares."""

    name: str
    value: str
    interval: str
    count: str
    spread: str
    remarks: tuple[str, ...]
    marks: tuple[int, ...]
    void: bool


@dataclass(frozen=True)
class Absent:
    """Figures that were not measured for one reason."""

    why: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class FigureTable:
    rows: tuple[FigureRow, ...]
    remarks: tuple[str, ...]
    absent: tuple[Absent, ...]


def table(figures: Sequence[Figure], void: str = "") -> FigureTable:
    """void: why their trial was void; it is said once, above, and not in each row."""
    known = [f for f in figures if f.value is not None]
    parts = {id(f): _remarks(f, void) for f in known}
    counted = Counter(remark for f in known for remark in parts[id(f)])
    shared = [remark for remark, count in counted.items() if count >= SHARED_FROM]
    rows = tuple(_row(f, parts[id(f)], shared) for f in known)
    return FigureTable(rows, tuple(shared), absent(figures))


def _remarks(figure: Figure, void: str) -> list[str]:
    note = figure.note.removeprefix(f"void: {void}") if figure.void else figure.note
    return [part for part in note.split("; ") if part]


def _row(figure: Figure, remarks: Sequence[str], shared: Sequence[str]) -> FigureRow:
    assert figure.value is not None
    return FigureRow(
        figure.name,
        units.value_text(figure.value, figure.unit),
        interval(figure),
        f"{figure.count:,}" if figure.count else "",
        units.spread_text(figure),
        tuple(r for r in remarks if r not in shared),
        tuple(shared.index(r) + 1 for r in remarks if r in shared),
        figure.void,
    )


def interval(figure: Figure) -> str:
    """`90 % [40, 44] ms`; empty where none was computed."""
    limits = units.interval_text(figure.low, figure.high, figure.unit)
    return f"{figure.confidence * 100:.3g}{units.NBSP}%{units.NBSP}{limits}" if limits else ""


def absent(figures: Sequence[Figure]) -> tuple[Absent, ...]:
    """Figures without a value by their reason, in the order in which the reasons first occur."""
    names: dict[str, list[str]] = {}
    for figure in figures:
        if figure.value is None:
            names.setdefault(figure.missing or "no reason was recorded", []).append(figure.name)
    return tuple(Absent(why, tuple(found)) for why, found in names.items())


@dataclass(frozen=True)
class DefinitionRow:
    """One figure as each definition set has it; an empty cell = the set has no such figure.

    why: what each set counts, a line each, once for each metric
    """

    name: str
    ours: str
    others: tuple[str, ...]
    why: tuple[str, ...]


def other_sets(definitions: Mapping[str, Sequence[Figure]]) -> dict[str, Sequence[Figure]]:
    """The sets of other tools; ours are the figures of the traffic themselves."""
    return {name: found for name, found in definitions.items() if name != "ours"}


def definitions(
    figures: Sequence[Figure], others: Mapping[str, Sequence[Figure]], statistics: Sequence[str] = STATISTICS
) -> tuple[DefinitionRow, ...]:
    """A row for each figure that another tool has, of these statistics."""
    wanted = dict.fromkeys(f.name for found in others.values() for f in found if f.statistic in statistics)
    rows: list[DefinitionRow] = []
    told: set[str] = set()
    for name in wanted:
        of_others = {tool: figure_of(found, name) for tool, found in others.items()}
        metric = next(f.metric for f in of_others.values() if f is not None)
        why = () if metric in told else _what_each_counts(metric, of_others)
        told.add(metric)
        values = tuple(map(_value, of_others.values()))
        rows.append(DefinitionRow(name, _value(figure_of(figures, name)), values, why))
    return tuple(rows)


def _what_each_counts(metric: str, of_others: Mapping[str, Figure | None]) -> tuple[str, ...]:
    """Our formula, and the others' as their figures' notes have it."""
    ours = f"ours: {registry.metric(metric).formula}" if metric in registry.names("metrics") else ""
    theirs = [f"{tool}: {f.note}" for tool, f in of_others.items() if f is not None and f.note]
    return tuple(filter(None, (ours, *theirs)))


def _value(figure: Figure | None) -> str:
    if figure is None:
        return ""
    if figure.value is None:
        return units.missing_text(figure.missing)
    return units.value_text(figure.value, figure.unit) + (" (void)" if figure.void else "")
