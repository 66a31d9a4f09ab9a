"""Units as users write them, and how many base units each is. Base units are those that metrics declare."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

QUANTITIES: Mapping[str, str] = MappingProxyType(
    {
        "s": "a time, for example 200ms or 1.5s",
        "B": "a size in bytes, for example 800MB or 6GiB",
        "tok/s": "a speed, for example 500tok/s",
        "req/s": "a rate, for example 12req/s",
        "J/tok": "an energy per token, for example 0.5J/tok",
        "usd/Mtok": "a price per million tokens, for example 0.20usd/Mtok",
        "bit": "bits, for example 4.5bit",
        "fraction": "a share of the whole, for example 95%",
    }
)

_TO_BASE: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "s": {
            "ns": 1e-9,
            "us": 1e-6,
            "µs": 1e-6,
            "ms": 1e-3,
            "s": 1.0,
            "sec": 1.0,
            "min": 60.0,
            "m": 60.0,
            "h": 3600.0,
        },
        "B": {
            **dict.fromkeys(("B", "byte", "bytes"), 1.0),
            **{f"{prefix}B": 1000.0**power for power, prefix in enumerate(("k", "M", "G", "T"), start=1)},
            **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate(("K", "M", "G", "T"), start=1)},
            "KB": 1e3,
        },
        "tok/s": {"tok/s": 1.0, "tokens/s": 1.0, "token/s": 1.0, "ktok/s": 1e3, "tok/min": 1 / 60},
        "req/s": {
            **dict.fromkeys(("req/s", "reqs/s", "request/s", "requests/s", "rps", "qps"), 1.0),
            "req/min": 1 / 60,
            "requests/min": 1 / 60,
        },
        "J/tok": {"J/tok": 1.0, "J/token": 1.0, "mJ/tok": 1e-3, "J/Mtok": 1e-6, "kWh/Mtok": 3.6, "Wh/Mtok": 3.6e-3},
        "usd/Mtok": {"usd/Mtok": 1.0, "USD/Mtok": 1.0, "$/Mtok": 1.0, "usd/ktok": 1e3, "usd/tok": 1e6},
        "bit": {"bit": 1.0, "bits": 1.0},
        "fraction": {"pt": 0.01, "pts": 0.01, "point": 0.01, "points": 0.01, "pp": 0.01},
    }
)


def factor(unit: str, base: str) -> float | None:
    """How many `base` units one `unit` is; None when `unit` is unknown or of another quantity."""
    if unit == base:
        return 1.0
    return _TO_BASE.get(base, {}).get(unit)


def base_of(unit: str) -> str | None:
    """The base unit of the quantity that `unit` measures; None when it is unknown."""
    return next((base for base, units in _TO_BASE.items() if unit in units), None)


def known(base: str) -> tuple[str, ...]:
    return tuple(_TO_BASE.get(base, {base: 1.0}))
