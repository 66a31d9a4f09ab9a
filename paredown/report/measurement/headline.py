"""What an operator looks at first: how the measurement went, in words, and the few figures that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.records.figure import Figure
from paredown.records.measurement import MeasuredTraffic, Measurement
from paredown.report import units
from paredown.report.rows import Badge

ENDPOINT = "endpoint"
LOOKED_AT_FIRST = {
    "ttft_p50": "Time to first token, p50",
    "ttft_p95": "Time to first token, p95",
    "decode_speed": "Decode speed",
    "output_throughput": "Output throughput",
    "goodput": "Goodput",
    "peak_memory": "Peak memory",
}
FAILURES = {
    "refused": "no connection",
    "error_object": "answered with an error",
    "malformed": "not readable",
    "truncated": "ended before its end",
    "no_tokens": "no token in it",
    "timeout": "took too long",
    "stalled": "no token for too long",
    "disconnected": "connection lost",
    "out_of_memory": "the engine ran out of memory",
    "died": "the engine ended",
    "engine_failed": "the engine ended",
}
STATUSES = {
    "400": "bad request", "401": "not authorized", "403": "forbidden", "404": "not found", "413": "too large",
    "429": "too many requests", "500": "server error", "502": "bad gateway", "503": "not available",
    "504": "gateway timeout",
}  # fmt: skip


@dataclass(frozen=True)
class Tile:
    """A figure of the headline. state: `known`, `void` or `missing`; `why`: the reason for the latter two."""

    name: str
    metric: str
    value: str
    spread: str
    state: str
    why: str


def badge(measurement: Measurement) -> Badge:
    """How the measurement went, in a word or two."""
    traffics = measurement.traffics
    void = [t for t in traffics if t.void]
    if not (traffics or measurement.curves or measurement.capacities or measurement.profile):
        return Badge("missed", "NOTHING MEASURED", "nothing was measured")
    if traffics and len(void) == len(traffics):
        return Badge("missed", "VOID", "no figure under any traffic may be used")
    if void or any(p.void for c in measurement.curves for p in c.points):
        return Badge("investigate", "PARTLY VOID", "some figures may not be used")
    if warnings(measurement):
        return Badge("investigate", "WITH CAUTIONS", "read the cautions beside the figures")
    return Badge("ship", "MEASURED", "nothing went wrong")


def warnings(measurement: Measurement) -> tuple[str, ...]:
    """What must be read before any figure: void traffics, void points, failures, cautions."""
    found = [
        f"{t.traffic} is void and its figures may not be used: {reason(t.void)}."
        for t in measurement.traffics
        if t.void
    ]
    for curve in measurement.curves:
        void = [f"{p.label} ({reason(p.void)})" for p in curve.points if p.void]
        if void:
            found.append(f"{title(curve.name)}: void at {', '.join(void)}.")
    found += [f"Under {t.traffic}, {failed_text(t)}." for t in measurement.traffics if t.failures]
    return (*found, *measurement.cautions)


def reason(void: str) -> str:
    """Why something is void, without the full stop, so that it can stand within a sentence."""
    return void.rstrip(".")


def failed_text(traffic: MeasuredTraffic) -> str:
    """`5 of 300 requests failed (3 status_429, 2 timeout)`; their latencies are in no figure."""
    count = sum(traffic.failures.values())
    classes = ", ".join(f"{number} {name}" for name, number in sorted(traffic.failures.items()))
    return f"{count:,} of {traffic.requests:,} requests failed ({classes})"


def meaning(failure: str) -> str:
    """What an error class stands for; empty for one that is not known here."""
    status = failure.removeprefix("status_")
    if status != failure:
        return ", ".join(filter(None, (f"answered {status}", STATUSES.get(status, ""))))
    return FAILURES.get(failure, "")


def shown_first(measurement: Measurement) -> MeasuredTraffic | None:
    """The first traffic that is not void, else the first; None without any."""
    usable = [t for t in measurement.traffics if not t.void]
    return next(iter([*usable, *measurement.traffics]), None)


def tiles(traffic: MeasuredTraffic) -> tuple[Tile, ...]:
    """One for each figure that is looked at first, also where it was not measured."""
    return tuple(_tile(name, metric, figure_of(traffic.figures, metric)) for metric, name in LOOKED_AT_FIRST.items())


def _tile(name: str, metric: str, figure: Figure | None) -> Tile:
    if figure is None or figure.value is None:
        return Tile(name, metric, units.NOT_MEASURED, "", "missing", figure.missing if figure else "")
    value = units.value_text(figure.value, figure.unit)
    state = "void" if figure.void else "known"
    return Tile(name, metric, value, units.spread_text(figure), state, "void, not to be used" if figure.void else "")


def figure_of(figures: Sequence[Figure], name: str) -> Figure | None:
    return next((figure for figure in figures if figure.name == name), None)


def title(name: str) -> str:
    """`kv_pressure` as a heading: `KV pressure`."""
    return units.sentence(name.replace("_", " ").replace("kv ", "KV "))


def setting(traffic: MeasuredTraffic) -> str:
    """`poisson: rate 4.6, seed 7; 300 requests`."""
    options = ", ".join(f"{name} {units.setting(value)}" for name, value in traffic.options.items())
    return f"{traffic.load_shape}{': ' + options if options else ''}; {traffic.requests:,} requests"


def where(measurement: Measurement) -> str:
    """On what and when, in a sentence; a server that somebody else runs is measured from this machine."""
    machine = measurement.machine
    if machine is None:
        return f"Measured {_at(measurement)}; the machine of the server is not known."
    parts = [machine.processor, *(gpu.name for gpu in machine.accelerators)]
    return f"Measured {_at(measurement)} {'from' if measurement.engine == ENDPOINT else 'on'} {' with '.join(parts)}."


def _at(measurement: Measurement) -> str:
    return measurement.started.replace("T", " ", 1)
