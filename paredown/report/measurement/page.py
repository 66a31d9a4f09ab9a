"""A measurement as one self-contained HTML file: no network, a strict content security policy, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown import registry
from paredown.contracts import Metric
from paredown.records.measurement import Capacity, Curve, MeasuredTraffic, Measurement, Profile
from paredown.report import rows as report_rows
from paredown.report import units
from paredown.report.charts.parts import cell
from paredown.report.drawings import Chart
from paredown.report.html import assets, environment, policy
from paredown.report.measurement import curve_drawings, drawings, figure_rows, headline, rows, traffic_drawings
from paredown.report.measurement.load_curve import steps_of_sweeps, with_load_curves

MANY_TRAFFICS = 4
"""With more, and for the steps of a sweep, what was measured under each is folded."""

CURVE_TITLES = {
    "load": "Load",
    "context_length": "Context length",
    "kv_pressure": "A KV cache that is nearly full",
    "prefix_cache": "Prefix cache, cold and warm",
}


@dataclass(frozen=True)
class TrafficPart:
    traffic: MeasuredTraffic
    setting: str
    shape: str
    failed: str
    failures: tuple[rows.FailureRow, ...]
    distributions: tuple[traffic_drawings.Distribution, ...]
    timeline: traffic_drawings.Timeline | None
    table: figure_rows.FigureTable
    tools: tuple[str, ...]
    definitions: tuple[figure_rows.DefinitionRow, ...]


@dataclass(frozen=True)
class CurvePart:
    curve: Curve
    identity: str
    title: str
    charts: tuple[curve_drawings.DrawnCurve, ...]
    table: rows.CurveTable


@dataclass(frozen=True)
class CapacityPart:
    capacity: Capacity
    title: str
    limits: str
    chart: Chart | None
    rows: tuple[rows.LoadRow, ...]


def html(measurement: Measurement) -> str:
    """The whole page. Opens from a file and loads nothing; only sections that have content are there."""
    css, js = assets()["report.css"], assets()["report.js"]
    first = headline.shown_first(measurement)
    memory = rows.memory_rows(measurement.traffics)
    curves = tuple(_curve(curve, f"curve-{i}") for i, curve in enumerate(with_load_curves(measurement).curves))
    page = environment().get_template("measurement.html.j2")
    return page.render(
        m=measurement,
        css=Markup(css),  # noqa: S704 (a file of this package)
        js=Markup(js),  # noqa: S704 (a file of this package)
        policy=policy(css, js),
        badge=headline.badge(measurement),
        warnings=headline.warnings(measurement),
        where=headline.where(measurement),
        first=first,
        tiles=headline.tiles(first) if first else (),
        glance=[(t, headline.tiles(t)) for t in measurement.traffics] if len(measurement.traffics) > 1 else [],
        folded=_folded(measurement),
        looked_at=headline.LOOKED_AT_FIRST,
        traffics=[_traffic(t, f"traffic-{i}") for i, t in enumerate(measurement.traffics)],
        curves=curves,
        capacities=[_capacity(c, f"capacity-{i}") for i, c in enumerate(measurement.capacities)],
        memory=memory,
        memory_chart=drawings.memory(memory),
        roofline=drawings.roofs(measurement.profile) if measurement.profile else None,
        operators=[(t, rows.operator_lines(t)) for t in measurement.profile.operators] if measurement.profile else [],
        rung=_rung(measurement.profile),
        metrics=_metrics(measurement),
        sections=_sections(measurement, curves, memory=bool(memory)),
        units=units,
        cell=cell,
        quartiles=drawings.quartiles,
    )


def _folded(measurement: Measurement) -> frozenset[str]:
    if len(measurement.traffics) > MANY_TRAFFICS:
        return frozenset(traffic.traffic for traffic in measurement.traffics)
    return steps_of_sweeps(measurement)


def _traffic(traffic: MeasuredTraffic, identity: str) -> TrafficPart:
    others = figure_rows.other_sets(traffic.definitions)
    known = traffic.load_shape in registry.names("loadshapes")
    return TrafficPart(
        traffic,
        headline.setting(traffic),
        registry.load_shape(traffic.load_shape).summary if known else "",
        headline.failed_text(traffic) if traffic.failures else "",
        rows.failures(traffic),
        traffic_drawings.distributions(traffic, identity),
        traffic_drawings.over_time(traffic, identity),
        figure_rows.table(traffic.figures, traffic.void),
        tuple(others),
        () if traffic.void else figure_rows.definitions(traffic.figures, others),
    )


def _curve(curve: Curve, identity: str) -> CurvePart:
    heading = CURVE_TITLES.get(curve.name, headline.title(curve.name))
    return CurvePart(curve, identity, heading, curve_drawings.curve(curve, identity), rows.curve_table(curve))


def _capacity(capacity: Capacity, identity: str) -> CapacityPart:
    return CapacityPart(
        capacity,
        headline.title(capacity.axis),
        rows.limits_text(capacity),
        drawings.capacity(capacity, identity),
        rows.load_rows(capacity),
    )


def _rung(profile: Profile | None) -> str:
    return report_rows.RUNGS[profile.rung] if profile and profile.rung is not None else ""


def _metrics(measurement: Measurement) -> tuple[Metric, ...]:
    """Definitions of every metric that occurs."""
    figures = [f for t in measurement.traffics for f in t.figures]
    figures += [f for c in measurement.curves for p in c.points for f in p.figures]
    there = {figure.metric for figure in figures}
    return tuple(registry.metric(name) for name in registry.names("metrics") if name in there)


def _sections(measurement: Measurement, curves: Sequence[CurvePart], *, memory: bool) -> list[tuple[str, str]]:
    """Identity and name of each section that has content, in the order of the page."""
    profile = measurement.profile
    found = [
        ("headline", "Headline", True),
        ("traffic", "Traffic", bool(measurement.traffics)),
        *((part.identity, headline.title(part.curve.name), True) for part in curves),
        ("capacity", "Capacity", bool(measurement.capacities)),
        ("memory", "Memory", memory),
        ("roofline", "Roofline", bool(profile and profile.placements)),
        ("operators", "Operators", bool(profile and profile.operators)),
        ("traces", "Traces", bool(profile and (profile.traces or profile.left_out))),
        ("setting", "Machine", True),
    ]
    return [(identity, name) for identity, name, there in found if there]
