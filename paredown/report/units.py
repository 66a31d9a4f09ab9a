"""Figures as people read them: units, intervals, counts; unknown is printed as "not measured (why)"."""

from __future__ import annotations

import math
import re
import unicodedata

from paredown.records.figure import Figure, Scalar

NOT_MEASURED = "not measured"
NBSP = "\u00a0"
"""Between a figure and its unit, so that a line never breaks there; Markdown and terminal write a plain space."""

_BYTES = ("bytes", "byte", "B")
_SECONDS = ("s", "seconds", "second")
_WRITTEN = {"tokens/s": "tok/s", "requests/s": "req/s", "usd/Mtok": "USD/Mtok", "bit": "bits"}
# Bidirectional overrides and isolates can make a shown text read otherwise than it is.
_TURNS_TEXT = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    r"""`text` with control characters (but newline and tab) and direction overrides written out, as `\x1b`."""
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\t":
        return character
    if unicodedata.category(character) in ("Cc", "Cs") or character in _TURNS_TEXT:
        return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
    return character


def one_line(text: str, limit: int = 200) -> str:
    """`text` on one line, cut with … at `limit` characters."""
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def sentence(text: str) -> str:
    """`text` with its first letter as a capital; the others stay as they are."""
    return text[:1].upper() + text[1:]


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits, thousands separated, no exponent between 10^-6 and 10^9."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    if magnitude < 1e-6 or magnitude >= 1e9:
        return _signed(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(magnitude)))
    return _signed(f"{value:,.0f}" if value == int(value) else f"{value:,.{decimals}f}")


def _signed(text: str) -> str:
    return text.replace("-", "−", 1) if text.startswith("-") else text


def size(value: float) -> str:
    """Bytes in decimal units, as the decision paragraph has them."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= scale:
            return f"{number(value / scale)}{NBSP}{unit}"
    return f"{value:,.0f}{NBSP}B"


def binary_size(value: float) -> str:
    """Bytes in binary units: memory and caches of a machine, and targets that were asked in them."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= scale:
            return f"{number(value / scale)}{NBSP}{unit}"
    return f"{value:,.0f}{NBSP}B"


def duration(seconds: float) -> str:
    for unit, scale in (("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= scale * (2 if unit == "min" else 1):
            return f"{number(seconds / scale)}{NBSP}{unit}"
    return f"0{NBSP}s" if seconds == 0 else f"{number(seconds / 1e-6)}{NBSP}µs"


def rate(value: float, unit: str) -> str:
    """A rate with its decimal prefix: `41.2 GB/s`, `1.3 Top/s`."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{number(value / scale)}{NBSP}{prefix}{unit}"
    return f"{number(value)}{NBSP}{unit}"


def percent(fraction: float, digits: int = 1) -> str:
    return _signed(f"{100 * fraction:.{digits}f}{NBSP}%")


def points(fraction: float) -> str:
    """A difference of two fractions, in percentage points with its sign."""
    value = round(100 * fraction, 1)
    return _signed(f"{value:+.1f}{NBSP}pt") if value else f"0.0{NBSP}pt"


def ratio(value: float) -> str:
    """A ratio with two decimals between 0.1 and 10, so that 1.004 reads 1.00 and not 1."""
    return f"{value:.2f}×" if 0.1 <= abs(value) < 10 else f"{number(value)}×"


def tick(text: str) -> str:
    """A formatted figure as an axis shows it: without zeros after the point."""
    return re.sub(r"\.(\d*?)0+(?=\D|$)", lambda m: f".{m[1]}" if m[1] else "", text)


def change(before: str, after: str) -> str:
    """`1.30 → 1.34×`: two formatted figures, the unit once when they share it."""
    (left, left_unit), (_, right_unit) = _apart(before), _apart(after)
    return f"{left if left_unit == right_unit else before}{NBSP}→{NBSP}{after}"


def setting(value: Scalar) -> str:
    """A setting as the record keeps it, in words for true, false and nothing."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def value_text(value: float, unit: str) -> str:
    """`value`, given in a base unit, in the unit a person reads."""
    if unit in _BYTES:
        return size(value)
    if unit == "binary bytes":
        return binary_size(value)
    if unit in _SECONDS:
        return duration(value)
    if unit in ("ns", "ms", "us"):
        return duration(value * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[unit])
    if unit in ("fraction", "percent", "%"):
        return percent(value if unit == "fraction" else value / 100)
    if unit in ("pt", "points"):
        return points(value)
    if unit in ("ratio", "x", "×"):
        return ratio(value)
    if unit == "bytes/s":
        return rate(value, "B/s")
    return f"{number(value)}{NBSP}{_WRITTEN.get(unit, unit)}".rstrip()


def unit_name(unit: str) -> str:
    """How a unit is written beside an axis."""
    return _WRITTEN.get(unit, unit)


def interval_text(low: float | None, high: float | None, unit: str) -> str:
    """`[40, 44] ms`, or with the unit at each limit where they differ; an unbounded side is ∞ with a round bracket.

    Empty when neither limit was computed.
    """
    if low is None and high is None:
        return ""
    left, left_unit = _apart("" if low is None else value_text(low, unit))
    right, right_unit = _apart("" if high is None else value_text(high, unit))
    if low is None or high is None or left_unit == right_unit:
        shared = right_unit if high is not None else left_unit
        left_unit = right_unit = ""
    else:
        shared = ""
    opened = "(−∞" if low is None else f"[{left}{left_unit}"
    closed = "∞)" if high is None else f"{right}{right_unit}]"
    return f"{opened},{NBSP}{closed}{shared}"


def _apart(text: str) -> tuple[str, str]:
    """Digits, and the unit with the space before it."""
    if text.endswith("×"):
        return text[:-1], "×"
    digits, space, unit = text.partition(NBSP)
    return digits, space + unit


def figure_text(figure: Figure | None, absent: str = "") -> str:
    """The value with its unit; or `not measured (why)`; that of a void trial says so."""
    if figure is None or figure.value is None:
        return missing_text(figure.missing if figure else absent)
    shown = value_text(figure.value, figure.unit)
    return f"{shown}, not to be used ({one_line(figure.note)})" if figure.void else shown


def missing_text(why: str = "") -> str:
    return f"{NOT_MEASURED} ({one_line(why)})" if why else NOT_MEASURED


def spread_text(figure: Figure | None) -> str:
    """Interval and count: `95 % [40 ms, 44 ms], n = 60`; empty for a figure that was not measured."""
    if figure is None or figure.value is None:
        return ""
    interval = interval_text(figure.low, figure.high, figure.unit)
    parts = [f"{figure.confidence * 100:.3g}{NBSP}%{NBSP}{interval}"] if interval else []
    if figure.count > 1 or interval:
        parts.append(f"n{NBSP}={NBSP}{figure.count:,}" + ("" if interval else ", no interval"))
    return ", ".join(parts)
