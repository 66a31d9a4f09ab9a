"""Figures as rows of a table: what was measured with its limits, and what was not, gathered by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paredown.records.figure import Figure
from paredown.report import units
from paredown.report.measurement.headline import figure_of

SHARED_FROM = 2
"""A remark on so many figures stands once under the table instead of beside each."""

DIFFERENCES = {
    "ttft": "Ours runs from when the request was due to the first chunk with tokens. The others run from when it was "
    "sent, which hides queueing in the client; vllm also stops at a first chunk that only names the role.",
    "itl": "Ours shares a gap among the tokens that came after it. vllm takes each gap once, however many tokens came; "
    "aiperf takes one mean for each request, which hides a long pause within an answer.",
    "tpot": "Ours leaves out the tokens of the first chunk, the others one token only.",
    "e2e": "Ours runs from when the request was due, the others from when it was sent.",
    "output_throughput": "Ours leaves out ramp and drain; the others divide by first send to last response.",
    "request_throughput": "The others divide by first send to last response, ramp and drain included.",
    "goodput": "Ours counts failed requests among those that were not good.",
}


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
    """One figure as each definition set has it; an empty cell = the set has no such figure."""

    name: str
    ours: str
    others: tuple[str, ...]
    why: str


def definitions(figures: Sequence[Figure], others: Mapping[str, Sequence[Figure]]) -> tuple[DefinitionRow, ...]:
    """A row for each figure that another tool has; why it differs is said once for each metric."""
    wanted = dict.fromkeys(f.name for found in others.values() for f in found)
    rows: list[DefinitionRow] = []
    told: set[str] = set()
    for name in wanted:
        of_others = [figure_of(found, name) for found in others.values()]
        metric = next(f.metric for f in of_others if f is not None)
        why = "" if metric in told else DIFFERENCES.get(metric, "")
        told.add(metric)
        rows.append(DefinitionRow(name, _value(figure_of(figures, name)), tuple(map(_value, of_others)), why))
    return tuple(rows)


def _value(figure: Figure | None) -> str:
    if figure is None:
        return ""
    if figure.value is None:
        return units.missing_text(figure.missing)
    return units.value_text(figure.value, figure.unit) + (" (void)" if figure.void else "")
