"""Each chart of the HTML report, made from the view: what is drawn, at which widths, and what could not be drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from paredown.records.figure import Samples
from paredown.records.verdict import SliceVerdict
from paredown.report import rows, slice_rows, triangle_rows, units, why_rows
from paredown.report.charts import forest, latency, pareto, roofline, triangle
from paredown.report.charts import layers as layer_chart
from paredown.report.charts.canvas import text_width
from paredown.report.view import BASELINE, DECODE_SPEED, Measured, ReportView, UnderTraffic

CLEARLY_FASTER = 1.25
NARROW_PX = 327.0
"""What is left of a phone's 375 px between the margins."""


@dataclass(frozen=True)
class Chart:
    """A chart in two widths, of which the style sheet shows one. `missing`: sentences on what is not in it."""

    wide: Markup
    narrow: Markup
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Latency:
    """The distributions under one traffic, and a row of figures beneath each."""

    traffic: str
    charts: tuple[tuple[str, Markup | None, str], ...]
    figures: tuple[tuple[str, str, str], ...]
    note: str


def both(draw: Callable[[str, float], Markup], identity: str, wide: float, missing: Sequence[str] = ()) -> Chart:
    """The chart at `wide` px and at a phone's width; `draw` gets an identity and a width."""
    return Chart(draw(f"{identity}-w", wide), draw(f"{identity}-n", NARROW_PX), tuple(missing))


def paretos(view: ReportView, ladder: Sequence[rows.LadderRow]) -> tuple[Chart | None, Chart | None]:
    """Decode speed against weight bytes, and against KL to the baseline. None when no candidate has both figures."""
    speed = pareto.Axis("decode speed, × baseline (higher is better)", lambda v: units.tick(units.ratio(v)))
    weights = pareto.Axis("stored weights, % of the baseline's", lambda v: f"{100 * v:.0f} %")
    divergence = pareto.Axis("mean KL to the baseline, nats a token", lambda v: f"{v:g}", log=True)
    by_size = [_point(row, row.weights.value) for row in ladder]
    by_kl = [_point(row, row.kl) for row in ladder]
    base = _baseline_point(view)
    return (
        _pareto(
            "pareto-size", "Speed against size", [*base, *_known(by_size)], weights, speed, _absent(ladder, by_size)
        ),
        _pareto("pareto-kl", "Speed against divergence", _known(by_kl), divergence, speed, _absent(ladder, by_kl)),
    )


def _known(points: Sequence[pareto.Point | None]) -> list[pareto.Point]:
    return [point for point in points if point is not None]


def _point(row: rows.LadderRow, x: float | None) -> pareto.Point | None:
    if x is None or row.speed.value is None:
        return None
    tip = "\n".join(
        [
            f"{row.name} · {row.verdict}",
            f"speed {row.speed.text} {row.speed.interval}",
            f"weights {row.weights.percent} ({row.weights_text})",
            f"KL {row.kl_text}, top-1 {row.top1_text}",
            f"drop {row.drop_text}",
        ]
    )
    return pareto.Point(
        row.number, row.name, x, row.speed.value, row.speed.low, row.speed.high, row.verdict, row.chosen, tip
    )


def _baseline_point(view: ReportView) -> list[pareto.Point]:
    figure = view.baseline.figure(DECODE_SPEED)
    if figure is None or figure.value is None:
        return []
    tip = f"{BASELINE} · {view.baseline.engine}\n{units.figure_text(figure)} ({units.spread_text(figure)})"
    return [pareto.Point("", BASELINE, 1.0, 1.0, None, None, "", chosen=False, tip=tip)]


def _absent(ladder: Sequence[rows.LadderRow], points: Sequence[pareto.Point | None]) -> list[str]:
    return [
        f"{row.number} {row.name}: ended at {row.stage or 'no stage'}" + (f" ({row.why})" if row.why else "")
        for row, point in zip(ladder, points, strict=True)
        if point is None
    ]


def _pareto(
    identity: str, title: str, points: Sequence[pareto.Point], x: pareto.Axis, y: pareto.Axis, missing: Sequence[str]
) -> Chart | None:
    if not any(point.number for point in points):
        return None
    return both(
        lambda i, width: pareto.draw(i, title, points, x, y, width, 390 if width > 400 else 330), identity, 520, missing
    )


def optimization_triangle(corners: Sequence[triangle_rows.Corner]) -> Markup:
    drawn = [triangle.Corner(c.name, c.better, c.label, f"{c.name}: {c.headline}\n{c.detail}") for c in corners]
    return triangle.draw("triangle", "Speed, cost and quality of the choice against the baseline", drawn)


def slices(judged: Sequence[SliceVerdict], candidate: str) -> Chart | None:
    if not judged:
        return None
    drawn = [_forest_row(row) for row in judged]
    return both(lambda i, width: forest.draw(i, f"Drop of {candidate} per slice", drawn, width), "forest", 1040)


def _forest_row(row: SliceVerdict) -> forest.Row:
    limits = units.interval_text(row.low, row.high, "pt")
    known = row.drop is not None
    right = f"{units.points(row.drop)} {limits}" if row.drop is not None else ""
    tip = (
        f"{row.slice}: {slice_rows.drop_text(row)}"
        + (f", {slice_rows.limits_name(row)} {limits}" if known else "")
        + "\n"
        f"margin {100 * row.margin:g} pt, n = {row.counts.n}, lost {row.counts.lost}, gained {row.counts.gained}\n"
        f"{row.verdict.value}: {row.reason}"
    )
    note = "" if known else units.missing_text(row.reason)
    return forest.Row(
        row.slice, row.gated, row.margin, row.drop, row.low, row.high, row.verdict.value, right, tip, note
    )


def layers(rows: Sequence[why_rows.LayerRow], candidate: str) -> Chart | None:
    """The loss of each part; None when there is none."""
    if not any(row.kl > 0 for row in rows):
        return None
    bars = [
        layer_chart.Bar(
            row.name,
            {"embedding": "emb"}.get(row.name, row.name.removeprefix("block ")),
            row.kl,
            row.marked,
            f"{row.name}: {row.kl_text}" + (f", {row.share} of the sum\n{row.error}" if row.share else ""),
        )
        for row in rows
    ]
    return both(lambda i, width: layer_chart.draw(i, f"Loss of {candidate} by layer", bars, width), "layers", 1040)


LATENCIES = {
    "ttft": "Time to first token",
    "itl": "Time between tokens",
    "e2e": "End to end",
}


def latencies(view: ReportView) -> tuple[Latency, ...]:
    """One group a traffic, in the order of the baseline's; curves of the baseline and of the choice."""
    choice = view.choice
    served = [("base", view.baseline), *([("choice", choice.measured)] if choice else [])]
    names = list(dict.fromkeys(under.traffic for _, measured in served for under in measured.under))
    return tuple(_latency(f"latency-{index}", name, served) for index, name in enumerate(names))


def _latency(identity: str, traffic: str, served: Sequence[tuple[str, Measured]]) -> Latency:
    found = [(class_, m.name, next((u for u in m.under if u.traffic == traffic), None)) for class_, m in served]
    charts = []
    for metric, title in LATENCIES.items():
        curves, absent = [], []
        for class_, name, under in found:
            samples = _samples(under, metric)
            if samples is not None and any(v > 0 for v in samples.values):
                curves.append(latency.Curve(name, class_, samples.values))
            else:
                absent.append(f"{name}: {units.missing_text(samples.missing if samples else 'no such trial')}")
        drawn = latency.draw(f"{identity}-{metric}", title, curves) if curves else None
        charts.append((title, drawn, "; ".join(absent)))
    void = [f"{name}: void, {under.void}" for _, name, under in found if under and under.void]
    return Latency(traffic, tuple(charts), _latency_figures(served, traffic), "; ".join(void))


def _samples(under: UnderTraffic | None, metric: str) -> Samples | None:
    return next((s for s in under.samples if s.metric == metric), None) if under else None


def _latency_figures(served: Sequence[tuple[str, Measured]], traffic: str) -> tuple[tuple[str, str, str], ...]:
    """(figure, served model, value with its spread) for every figure of this traffic."""
    found = []
    for _, measured in served:
        for under in measured.under:
            if under.traffic == traffic:
                found += [
                    (
                        f.name,
                        measured.name,
                        " ".join(filter(None, [units.figure_text(f), _bracket(units.spread_text(f))])),
                    )
                    for f in under.figures
                ]
    return tuple(sorted(found, key=lambda row: [f for f, _, _ in found].index(row[0])))


def _bracket(content: str) -> str:
    return f"({content})" if content else ""


def roofs(view: ReportView) -> Chart | None:
    """None when neither ceilings nor placements were measured."""
    served = [("base", view.baseline), *([("choice", view.choice.measured)] if view.choice else [])]
    spots = [
        roofline.Spot(
            f"{m.name} {p.phase}", p.operations / p.bytes_moved, p.operations / p.measured_s,
            "square" if p.phase == "prefill" else "circle", class_,
            f"{m.name} {p.phase}: {p.bound.value}\n{units.percent(p.fraction, 0)} of the ceiling, "
            f"{units.duration(p.measured_s)} for {p.tokens} token{'s' if p.tokens > 1 else ''}",
        )
        for class_, m in served
        for p in m.placements
        if p.bytes_moved and p.operations and p.measured_s > 0
    ]  # fmt: skip
    lines = _roofs(view)
    if not spots or not lines:
        return None

    def draw(identity: str, width: float) -> Markup:
        short = [
            roofline.Spot(s.name if text_width(s.name) < width / 3 else s.name.split()[-1], *_rest(s)) for s in spots
        ]
        return roofline.draw(identity, "Roofline of this machine", lines, short, width, 380 if width > 400 else 330)

    return both(draw, "roofline", 640)


def _rest(spot: roofline.Spot) -> tuple[float, float, str, str, str]:
    return spot.intensity, spot.speed, spot.shape, spot.class_, spot.tip


def _roofs(view: ReportView) -> list[roofline.Roof]:
    """Bandwidth at the largest working set, and at the smallest where that is clearly faster (caches); matrix rates."""
    ceilings = view.ceilings
    if ceilings is None:
        return []
    by_size = sorted(ceilings.bandwidth, key=lambda b: b.working_set_bytes)
    drawn = [roofline.Roof(units.binary_size(b.working_set_bytes), slope=b.bytes_per_second) for b in by_size[-1:]]
    if by_size and by_size[0].bytes_per_second > CLEARLY_FASTER * by_size[-1].bytes_per_second:
        smallest = by_size[0]
        drawn.append(roofline.Roof(units.binary_size(smallest.working_set_bytes), slope=smallest.bytes_per_second))
    return drawn + [roofline.Roof(m.dtype, flat=m.operations_per_second) for m in ceilings.matrix]
