"""The steps of a sweep, which were measured as traffics of their own, seen as one curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paredown.records.measurement import Curve, CurvePoint, MeasuredTraffic, Measurement

AXES = {"rate": ("request rate", "req/s"), "concurrency": ("concurrency", "requests in flight")}
FEWEST = 2


def with_load_curves(measurement: Measurement) -> Measurement:
    """The measurement with a `load` curve for each sweep in it, unless it has one already."""
    if any(curve.name == "load" for curve in measurement.curves):
        return measurement
    sweeps: dict[tuple[str, str], list[MeasuredTraffic]] = {}
    for traffic in measurement.traffics:
        sweeps.setdefault((_swept(traffic), traffic.load_shape), []).append(traffic)
    found = [_curve(name, steps) for (name, _), steps in sweeps.items() if name and len(steps) >= FEWEST]
    drawn = [curve for curve in found if curve is not None]
    return replace(measurement, curves=(*drawn, *measurement.curves)) if drawn else measurement


def _swept(traffic: MeasuredTraffic) -> str:
    """`chat` of the step `chat, 4 requests/s`; empty for what is no step."""
    return traffic.traffic.rpartition(", ")[0]


def _curve(name: str, steps: Sequence[MeasuredTraffic]) -> Curve | None:
    """None where the steps do not differ in a rate or a concurrency."""
    for option, (axis, unit) in AXES.items():
        loads = [step.options.get(option) for step in steps]
        numbers = [float(load) for load in loads if isinstance(load, int | float)]
        if len(numbers) == len(steps) and len(set(numbers)) == len(steps):
            placed = sorted(zip(numbers, steps, strict=True), key=lambda pair: pair[0])
            return Curve("load", axis, unit, tuple(_point(x, step) for x, step in placed), (f"the steps of {name}",))
    return None


def _point(load: float, step: MeasuredTraffic) -> CurvePoint:
    return CurvePoint(load, step.traffic.rpartition(", ")[2], step.figures, step.failures, step.void)
