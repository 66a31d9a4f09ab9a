"""What `measure`, `capacity` and `profile` print last: the headline, then tables; readable at 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from paredown.records.figure import Figure
from paredown.records.measurement import Capacity, Curve, MeasuredTraffic, Measurement, Profile
from paredown.report import units
from paredown.report.measurement import figure_rows, headline, rows
from paredown.report.measurement.load_curve import steps_of_sweeps, with_load_curves
from paredown.report.terminal_text import as_text, heading

BADGE_STYLES = {"ship": "bold green", "missed": "bold red", "investigate": "bold yellow"}
OUTCOME_STYLES = {"met": "green", "mixed": "yellow", "missed": "red", "void": "dim"}
OPERATORS = 6
FIRST_COLUMN, GAP = 12, 2
"""Characters for the place on the axis, and between two columns."""


def show(measurement: Measurement, console: Console, paths: Sequence[tuple[str, str]] = ()) -> None:
    """Print the measurement. `paths`: what was written, as (what, where).

    No figure is cut: a table drops its last columns, and names them, before a figure would not fit. Names and server
    texts are printed as text: neither console markup nor escape sequences in them act.
    """
    badge = headline.badge(measurement)
    title = as_text(f"  {measurement.subject} on {measurement.engine}", "bold")
    console.print(Text.assemble(Text(badge.words, BADGE_STYLES[badge.class_]), title))
    console.print(as_text(headline.where(measurement), "dim"))
    for sentence in headline.warnings(measurement):
        console.print(as_text(sentence, "yellow"))
    if measurement.profile and measurement.profile.bottleneck:
        console.print(as_text(f"Bottleneck: {measurement.profile.bottleneck}"))
    for found in measurement.capacities:
        console.print(as_text(f"Capacity: {found.sentence}"))
    first = headline.shown_first(measurement)
    if first is not None:
        _print_headline(first, console)
    swept = steps_of_sweeps(measurement)
    for traffic in measurement.traffics:
        if traffic.traffic not in swept:
            _print_traffic(traffic, console)
    _print_not_measured(measurement.traffics, console)
    for curve in with_load_curves(measurement).curves:
        _print_curve(curve, console)
    for found in measurement.capacities:
        _print_capacity(found, console)
    if swept:
        console.print(as_text("The report has every figure of each step (--run-dir DIR), and so has --json.", "dim"))
    _print_memory(measurement, console)
    if measurement.profile:
        _print_profile(measurement.profile, console)
    for what, where in paths:
        # Not wrapped, so that it can be copied whole.
        console.print(Text.assemble((f"{what:<10}", "bold"), as_text(where)), soft_wrap=True)


def _print_headline(traffic: MeasuredTraffic, console: Console) -> None:
    heading(f"First figures, under {traffic.traffic}", console)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for tile in headline.tiles(traffic):
        style = "bold" if tile.state == "known" else "dim"
        table.add_row(as_text(tile.name), as_text(tile.value, style), as_text(tile.why or tile.spread, "dim"))
    console.print(table)


def _print_traffic(traffic: MeasuredTraffic, console: Console) -> None:
    heading(f"{traffic.traffic}: {traffic.summary}", console)
    console.print(as_text(headline.setting(traffic), "dim"))
    if traffic.void:
        console.print(as_text(f"Void, so its figures are not shown here: {headline.reason(traffic.void)}.", "red"))
        return
    if traffic.failures:
        console.print(as_text(f"{headline.failed_text(traffic)}; they are in no latency.", "yellow"))
    for note in traffic.notes:
        console.print(as_text(note, "dim"))
    found = figure_rows.table(traffic.figures, traffic.void)
    if found.rows:
        table = _table()
        for name in ("Figure", "Value", "Limits", "n"):
            table.add_column(
                name, overflow="fold", no_wrap=name != "Figure", justify="right" if name == "n" else "left"
            )
        for row in found.rows:
            table.add_row(*map(as_text, (row.name, row.value, row.interval or "none", row.count)))
        console.print(table)
    for remark in found.remarks:
        console.print(as_text(f"· {remark}", "dim"))
    others = figure_rows.other_sets(traffic.definitions)
    if others:
        _print_definitions(traffic, others, console)


def _print_not_measured(traffics: Sequence[MeasuredTraffic], console: Console) -> None:
    """One list for all traffics; a figure that only some of them lack names those."""
    under: dict[tuple[str, str], list[str]] = {}
    for traffic in traffics:
        for absent in figure_rows.absent(traffic.figures):
            for name in absent.names:
                under.setdefault((absent.why, name), []).append(traffic.traffic)
    names: dict[str, list[str]] = {}
    for (why, name), found in under.items():
        names.setdefault(why, []).append(name if len(found) == len(traffics) else f"{name} under {', '.join(found)}")
    if names:
        told = "; ".join(f"{', '.join(found)} ({why})" for why, found in names.items())
        console.print()
        console.print(as_text(f"Not measured: {told}.", "dim"))


def _print_definitions(traffic: MeasuredTraffic, others: Mapping[str, Sequence[Figure]], console: Console) -> None:
    columns = ["The same events by", "ours", *others]
    compared = figure_rows.definitions(traffic.figures, others, ("", "p50", "p95"))
    lines = [[[r.name], [r.ours or "–"], *([value or "–"] for value in r.others)] for r in compared]
    _print_fitting(columns, lines, console)


def _print_curve(curve: Curve, console: Console) -> None:
    heading(headline.title(curve.name), console)
    for note in curve.notes:
        console.print(as_text(note, "dim"))
    found = rows.curve_table(curve)
    lines = []
    for row, point in zip(found.rows, curve.points, strict=True):
        cells = []
        for name, cell in zip(found.columns, row.cells, strict=True):
            short = {"missing": ["unknown"], "none": ["–"], "void": ["void"]}
            cells.append(short.get(cell.state) or [cell.value, _limits(point.figure(name), cell.value)])
        lines.append([[row.label], *cells])
    if lines:
        _print_fitting([curve.axis, *found.columns], lines, console)
    for row in found.rows:
        missing = [cell.value for cell in row.cells if cell.state == "missing"]
        # Why a point is void stands in the headline.
        told = [sentence for sentence in row.outcome if not (row.void and sentence.startswith("void: "))]
        for sentence in dict.fromkeys([*told, *missing]):
            console.print(as_text(f"{row.label}: {sentence}", "dim"))


def _limits(figure: Figure | None, value: str) -> str:
    """The interval, without its unit where that stands in the line above."""
    text = units.interval_text(figure.low, figure.high, figure.unit) if figure else ""
    end = max(text.rfind("]"), text.rfind(")")) + 1
    return text[:end] if text[end:] and value.endswith(text[end:]) else text


def _print_capacity(found: Capacity, console: Console) -> None:
    heading(f"Capacity, {headline.title(found.axis).lower()}: {rows.limits_text(found)}", console)
    console.print(as_text(f"Targets: {', '.join(found.targets)}" + (f". {found.note}" if found.note else ""), "dim"))
    table = _table()
    for name in ("Load", "Outcome", "Runs", "Missed first"):
        table.add_column(name, overflow="fold", no_wrap=name != "Missed first")
    for row in rows.load_rows(found):
        outcome = Text(row.words, OUTCOME_STYLES[row.outcome])
        table.add_row(as_text(row.load), outcome, as_text(row.runs), as_text(row.missed))
    if found.points:
        console.print(table)


def _print_memory(measurement: Measurement, console: Console) -> None:
    found = rows.memory_rows(measurement.traffics)
    if not found:
        return
    heading("Memory", console)
    lines = [
        [
            [r.traffic],
            [units.size(r.peak)],
            *([units.size(p.bytes) if p.bytes is not None else "unknown"] for p in r.parts),
        ]
        for r in found
    ]
    _print_fitting(["Traffic", "Peak", *(part.name for part in found[0].parts)], lines, console)


def _print_profile(profile: Profile, console: Console) -> None:
    if profile.placements:
        heading("Where the time goes", console)
        columns = ["Phase", "Bound", "Of the ceiling", "Measured, a step"]
        lines = [
            [
                [f"{p.phase}, batch {p.batch}"],
                [p.bound.value],
                [units.percent(p.fraction, 0)],
                [units.duration(p.measured_s)],
            ]
            for p in profile.placements
        ]
        _print_fitting(columns, lines, console)
    for found in profile.operators:
        heading(f"Operators of {found.phase}, batch {found.batch}: {units.duration(found.wall_s)} a step", console)
        table = _table()
        table.add_column("Operator", overflow="fold")
        for name in ("Share", "Time"):
            table.add_column(name, justify="right", no_wrap=True)
        for line in rows.operator_lines(found, OPERATORS):
            table.add_row(as_text(line.name), as_text(line.share_text), as_text(line.seconds))
        console.print(table)
    for trace in profile.traces:
        console.print(Text.assemble((f"{'trace':<10}", "bold"), as_text(trace)), soft_wrap=True)
    if profile.traces:
        console.print(
            as_text("A trace opens at ui.perfetto.dev, which reads it in the browser: nothing is uploaded.", "dim")
        )
    if profile.left_out:
        told = "; ".join(f"{name} ({why})" for name, why in sorted(profile.left_out.items()))
        console.print(as_text(f"Did not run: {told}.", "dim"))


def _print_fitting(columns: Sequence[str], lines: Sequence[Sequence[Sequence[str]]], console: Console) -> None:
    """A table of cells that have one or two lines each; the last columns are left out where they have no room."""
    titles = [name.replace("_", " ") for name in columns]
    widths = [
        max([len(part) for line in lines for part in line[i]] + [len(word) for word in titles[i].split()])
        for i in range(len(columns))
    ]
    widths[0] = min(max(widths[0], FIRST_COLUMN), console.width // 3)
    kept = 1
    while kept < len(columns) and sum(widths[: kept + 1]) + GAP * kept <= console.width:
        kept += 1
    table = _table()
    for title, width in zip(titles[:kept], widths, strict=False):
        table.add_column(as_text(title), overflow="fold", width=width)
    for line in lines:
        table.add_row(*(_cell(cell) for cell in line[:kept]))
    console.print(table)
    if kept < len(columns):
        console.print(as_text(f"Not shown in {console.width} columns: {', '.join(columns[kept:])}.", "dim"))


def _cell(lines: Sequence[str]) -> Text:
    first, *rest = lines
    return Text("\n").join([as_text(first), *(as_text(line, "dim") for line in rest if line)])


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
