"""Figures as people read them: three significant digits, a unit of handy size."""

from __future__ import annotations

from paredown.records.figure import Figure

_TIMES = ((60.0, 60.0, "min"), (1.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (0.0, "B"))


def quantity(value: float, unit: str) -> str:
    """`0.212, s` → `212 ms`; `138e6, B` → `138 MB`; other units as they are; `x` → `3.6×`."""
    if unit == "s":
        scale, name = next((s, n) for least, s, n in _TIMES if abs(value) >= least)
        return f"{digits(value / scale)} {name}"
    if unit == "B":
        least, name = next(found for found in _SIZES if abs(value) >= found[0])
        return f"{digits(value / (least or 1.0))} {name}"
    if unit == "x":
        return f"{digits(value)}×"
    if unit == "usd/Mtok":
        return f"${value:,.2f} per million tokens" if value >= 0.01 else f"${value:.4f} per million tokens"
    if unit == "fraction":
        return percent(value)
    spelled = {"tok/s": "tokens/s", "req/s": "requests/s", "J/tok": "J per token", "bit": "bits"}
    return f"{digits(value)} {spelled.get(unit, unit)}".strip()


def digits(value: float) -> str:
    """Three significant digits (whole numbers from 100 on), without trailing zeros."""
    if abs(value) >= 100.0:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(fraction: float) -> str:
    return f"{digits(100.0 * fraction)} %"


def interval(figure: Figure) -> str:
    """` (170 ms to 230 ms)`, an unbounded side as `∞`; empty without any limit."""
    if figure.low is None and figure.high is None:
        return ""
    low = quantity(figure.low, figure.unit) if figure.low is not None else "−∞"
    high = quantity(figure.high, figure.unit) if figure.high is not None else "∞"
    return f" ({low} to {high})"
