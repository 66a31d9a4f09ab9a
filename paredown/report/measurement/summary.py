"""A measurement as GitHub-flavoured Markdown, in short: the headline, then a table for whatever was found."""

from __future__ import annotations

from paredown.records.figure import Figure
from paredown.records.measurement import Curve, Measurement, Profile
from paredown.report import units
from paredown.report.markdown_text import code, escape, table
from paredown.report.measurement import figure_rows, headline, rows
from paredown.report.measurement.load_curve import with_load_curves

OPERATORS = 5


def markdown(measurement: Measurement) -> str:
    """The whole document, ending with a newline. Names and server texts are escaped."""
    parts = [
        *_headline(measurement),
        *_traffics(measurement),
        *(part for curve in with_load_curves(measurement).curves for part in _curve(curve)),
        *_capacities(measurement),
        *_memory(measurement),
        *(_profile(measurement.profile) if measurement.profile else []),
        *_setting(measurement),
    ]
    return "\n\n".join(parts).replace(units.NBSP, " ") + "\n"


def _headline(measurement: Measurement) -> list[str]:
    badge = headline.badge(measurement)
    parts = [
        f"# {badge.words}: {escape(measurement.subject)} on {escape(measurement.engine)}",
        escape(headline.where(measurement)),
    ]
    warnings = headline.warnings(measurement)
    if warnings:
        told = "\n".join(f"> - {escape(sentence)}" for sentence in warnings)
        parts.append(f"> **{units.sentence(badge.meaning)}.**\n>\n{told}")
    if measurement.profile and measurement.profile.bottleneck:
        parts.append(f"**Bottleneck.** {escape(measurement.profile.bottleneck)}")
    parts += [f"**Capacity.** {escape(found.sentence)}" for found in measurement.capacities]
    return parts


def _traffics(measurement: Measurement) -> list[str]:
    if not measurement.traffics:
        return []
    lines = [
        [escape(t.traffic), *("void" if tile.state == "void" else _told(tile.value, tile.spread) for tile in tiles)]
        for t in measurement.traffics
        for tiles in [headline.tiles(t)]
    ]
    parts = ["## Traffic", table(["", *headline.LOOKED_AT_FIRST.values()], lines)]
    for traffic in measurement.traffics:
        said = [f"- **{escape(traffic.traffic)}**: {escape(traffic.summary)}; {escape(headline.setting(traffic))}"]
        if traffic.failures:
            said.append(f"  - {escape(headline.failed_text(traffic))}")
        said += [f"  - {escape(note)}" for note in traffic.notes]
        said += [
            f"  - not measured: {', '.join(map(code, found.names))} ({escape(found.why)})"
            for found in figure_rows.absent(traffic.figures)
        ]
        parts.append("\n".join(said))
        others = figure_rows.other_sets(traffic.definitions)
        if others and not traffic.void:
            compared = figure_rows.definitions(traffic.figures, others, ("", "p50", "p95"))
            parts.append(f"The same events of {escape(traffic.traffic)} as other tools count them:")
            parts.append(
                table(
                    ["Figure", "ours", *map(escape, others), "What each counts"],
                    [
                        [code(r.name), *map(escape, (r.ours or "–", *(v or "–" for v in r.others), "; ".join(r.why)))]
                        for r in compared
                    ],
                )
            )
    return parts


def _told(value: str, spread: str) -> str:
    return escape(f"{value} ({spread})" if spread else value)


def _curve(curve: Curve) -> list[str]:
    found = rows.curve_table(curve)
    unit = f", {units.unit_name(curve.unit)}" if curve.unit and curve.unit != "fraction" else ""
    head = [escape(f"{units.sentence(curve.axis)}{unit}"), *map(code, found.columns)]
    lines = []
    for row in found.rows:
        cells = (_told(c.value or "–", c.spread) for c in row.cells)
        lines.append([escape(row.label), *cells, escape("; ".join(row.outcome))])
    notes = [escape(note) for note in curve.notes]
    return [
        f"## {escape(headline.title(curve.name))}",
        *notes,
        *([table([*head, "Outcome"], lines)] if lines else ["Nothing was measured."]),
    ]


def _capacities(measurement: Measurement) -> list[str]:
    parts = []
    for found in measurement.capacities:
        targets = ", ".join(map(code, found.targets))
        note = f"; {escape(found.note.rstrip('.'))}" if found.note else ""
        parts.append(f"## Capacity: {escape(headline.title(found.axis).lower())} {escape(rows.limits_text(found))}")
        parts.append(f"Targets: {targets}{note}.")
        lines = [map(escape, (r.load, r.words, r.runs, r.missed)) for r in rows.load_rows(found)]
        parts.append(table(["Load", "Outcome", "Runs", "Missed first"], [list(line) for line in lines]))
    return parts


def _memory(measurement: Measurement) -> list[str]:
    found = rows.memory_rows(measurement.traffics)
    if not found:
        return []
    lines = [[escape(r.traffic), units.size(r.peak), *(_size(p.bytes, p.why) for p in r.parts)] for r in found]
    return ["## Memory", table(["Traffic", "Peak", *(p.name for p in found[0].parts)], lines)]


def _size(value: float | None, why: str) -> str:
    return escape(units.figure_text(Figure("memory", "B", value, missing=why)))


def _profile(profile: Profile) -> list[str]:
    parts = ["## Where the time goes"]
    if profile.placements:
        lines = [
            [
                f"{escape(p.phase)}, batch {p.batch}", p.bound.value, units.percent(p.fraction, 0),
                units.duration(p.measured_s), escape(p.sentence),
            ]
            for p in profile.placements
        ]  # fmt: skip
        parts.append(table(["Phase", "Bound", "Of the ceiling", "Measured, a step", "In words"], lines))
    for found in profile.operators:
        lines = [[code(line.name), line.share_text, line.seconds] for line in rows.operator_lines(found, OPERATORS)]
        parts.append(f"Operators of {escape(found.phase)}, batch {found.batch}, a step:")
        parts.append(table(["Operator", "Share", "Time"], lines))
    if profile.traces:
        parts.append(
            "Traces (open them at ui.perfetto.dev; nothing is uploaded): " + ", ".join(map(code, profile.traces))
        )
    parts += [f"- {code(name)} did not run: {escape(why)}" for name, why in sorted(profile.left_out.items())]
    return parts


def _setting(measurement: Measurement) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(measurement.versions.items()))
    lines = ["## Record", f"- Command: {code(measurement.command or 'not recorded')}"]
    return [lines[0], "\n".join([*lines[1:], *([f"- Versions: {escape(versions)}"] if versions else [])])]
