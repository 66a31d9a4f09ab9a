"""Charts of a curve: throughput against latency over the steps of a load, figures along a context length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.records.figure import Figure
from paredown.records.measurement import Curve, CurvePoint
from paredown.report import units
from paredown.report.charts import curve as curve_chart
from paredown.report.charts.curve import Axis, Place, Series
from paredown.report.drawings import Chart, both
from paredown.report.measurement.headline import reason, title

WIDE_RANGE = 20.0
"""Latencies that differ by more than this are drawn on a logarithmic axis."""

Named = tuple[str, tuple[Place | None, ...]]
"""A series of figures by its name."""

LATENCY_AXES = {"ttft": "time to first token", "tpot": "time per output token", "itl": "time between tokens"}
THROUGHPUTS = ("output_throughput", "request_throughput", "goodput")


@dataclass(frozen=True)
class DrawnCurve:
    """A chart and the names of its series, as the legend has them: (class, shape, name). crosses: it has some."""

    title: str
    chart: Chart
    legend: tuple[tuple[str, str, str], ...]
    crosses: bool


def curve(found: Curve, identity: str) -> tuple[DrawnCurve, ...]:
    """The charts of a curve: throughput against latency for a load, figures along the axis for a context length.

    Curves of pressure and of the prefix cache are tables: their places are experiments and not a scale.
    """
    if found.name == "load":
        drawn = [_load(found, identity, metric) for metric in ("ttft", "tpot", "itl")]
        return tuple([chart for chart in drawn if chart is not None][:2])
    if found.name in ("kv_pressure", "prefix_cache"):
        return ()
    drawn = [
        _along(found, f"{identity}-ttft", ("ttft_p50", "ttft_p95"), "Time to first token", log=True),
        _along(found, f"{identity}-speed", ("decode_speed",), "Decode speed of one request", log=False),
    ]
    return tuple(chart for chart in drawn if chart is not None)


def _load(found: Curve, identity: str, metric: str) -> DrawnCurve | None:
    """Each step at the throughput that it reached; the steps are joined in their order."""
    throughput = next((n for n in THROUGHPUTS if any(_usable(p, n) for p in found.points)), None)
    statistics = [s for s in ("p50", "p95") if any(_usable(p, f"{metric}_{s}") for p in found.points)]
    if throughput is None or not statistics:
        return None
    series, absent = list[Named](), list[str]()
    for statistic in statistics:
        name = f"{metric}_{statistic}"
        places: list[Place | None] = []
        for point in found.points:
            x = _usable(point, throughput)
            if x is None or x.value is None:
                # Without a throughput there is no place for it; an unusable neighbour still breaks the line.
                absent.append(f"{point.label}: {_why(point, throughput)}")
                places.append(None)
                continue
            places.append(_place(point, name, x.value, x, label=point.label if statistic == statistics[-1] else ""))
        series.append((name, tuple(places)))
    title_ = f"{title(throughput)} against {LATENCY_AXES[metric]}"
    unit = next(f.unit for p in found.points if (f := _usable(p, throughput)))
    x_axis = Axis(f"{throughput.replace('_', ' ')}, {units.unit_name(unit)}", _plain)
    return _drawn(f"{identity}-{metric}", title_, series, x_axis, _latency_axis(metric, series), absent)


def _along(found: Curve, identity: str, names: Sequence[str], heading: str, *, log: bool) -> DrawnCurve | None:
    wanted = [name for name in names if any(_usable(p, name) for p in found.points)]
    if not wanted:
        return None
    series: list[Named] = [
        (name, tuple(_place(point, name, point.x, None) for point in found.points)) for name in wanted
    ]
    xs = [p.x for p in found.points if p.x > 0]
    wide = len(xs) == len(found.points) and max(xs) > 8 * min(xs)
    unit = f", {units.unit_name(found.unit)}" if found.unit else ""
    x_axis = Axis(
        f"{found.axis}{unit}{' (logarithmic)' if wide else ''}", _plain, log=wide, at=tuple(p.x for p in found.points)
    )
    metric = wanted[0].split("_p")[0]
    figure = next(f for p in found.points if (f := _usable(p, wanted[0])))
    y_axis = _latency_axis(metric, series) if log else Axis(
        f"{metric.replace('_', ' ')}, {units.unit_name(figure.unit)}", _plain
    )  # fmt: skip
    return _drawn(identity, f"{heading} by {found.axis}", series, x_axis, y_axis, [])


def _plain(value: float) -> str:
    return units.tick(units.number(value))


def _latency_axis(metric: str, series: Sequence[Named]) -> Axis:
    values = [p.y for _, places in series for p in places if p is not None and p.usable and p.y]
    log = bool(values) and max(values) > WIDE_RANGE * min(values)
    name = LATENCY_AXES.get(metric, metric.replace("_", " "))
    return Axis(f"{name}{' (logarithmic)' if log else ''}", lambda v: units.tick(units.duration(v)), log=log)


def _drawn(
    identity: str,
    heading: str,
    series: Sequence[Named],
    x: Axis,
    y: Axis,
    absent: Sequence[str],
) -> DrawnCurve:
    classes = ("choice",) if len(series) == 1 else ("base", "choice")
    made = [Series(n, c, places) for (n, places), c in zip(series, classes, strict=True)]

    def draw(i: str, width: float) -> Markup:
        return curve_chart.draw(i, heading, made, x, y, width, 300 if width > 400 else 270)

    legend = tuple((s.class_, shape, s.name) for s, shape in zip(made, curve_chart.SHAPES, strict=False))
    crosses = any(not place.usable for one in made for place in one.known)
    return DrawnCurve(heading, both(draw, identity, 500, tuple(dict.fromkeys(absent))), legend, crosses)


def _usable(point: CurvePoint, name: str) -> Figure | None:
    figure = point.figure(name)
    return figure if figure is not None and figure.value is not None and not point.void and not figure.void else None


def _why(point: CurvePoint, name: str) -> str:
    if point.void:
        return f"void, {reason(point.void)}"
    figure = point.figure(name)
    return units.missing_text((figure.missing if figure else "") or point.outcome)


def _place(point: CurvePoint, name: str, x: float, across: Figure | None, label: str = "") -> Place:
    figure = _usable(point, name)
    if figure is None:
        return Place(x, None, f"{point.label}, {name}: {_why(point, name)}", void=bool(point.void))
    told = [f"{point.label}, {name}: {units.figure_text(figure)}", units.spread_text(figure), point.outcome]
    return Place(
        x, figure.value, "\n".join(filter(None, told)), figure.low, figure.high,
        figure.low is not None or figure.high is not None, across.low if across else None,
        across.high if across else None, label,
    )  # fmt: skip
