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
    found = [curve for name, steps in _sweeps(measurement) if (curve := _curve(name, steps)) is not None]
    return replace(measurement, curves=(*found, *measurement.curves)) if found else measurement


def steps_of_sweeps(measurement: Measurement) -> frozenset[str]:
    """Names of the traffics that a curve of `with_load_curves` shows."""
    drawn = [steps for name, steps in _sweeps(measurement) if _curve(name, steps) is not None]
    return frozenset(step.traffic for steps in drawn for step in steps)


def _sweeps(measurement: Measurement) -> list[tuple[str, list[MeasuredTraffic]]]:
    found: dict[tuple[str, str], list[MeasuredTraffic]] = {}
    for traffic in measurement.traffics:
        found.setdefault((_swept(traffic), traffic.load_shape), []).append(traffic)
    return [(name, steps) for (name, _), steps in found.items() if name and len(steps) >= FEWEST]


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
            notes = dict.fromkeys([f"the steps of {name}", *(note for step in steps for note in step.notes)])
            return Curve("load", axis, unit, tuple(_point(x, step) for x, step in placed), tuple(notes))
    return None


def _point(load: float, step: MeasuredTraffic) -> CurvePoint:
    return CurvePoint(load, step.traffic.rpartition(", ")[2], step.figures, step.failures, step.void)
