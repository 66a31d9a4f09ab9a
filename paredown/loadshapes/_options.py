"""Reading a load shape's options, so that every shape refuses a wrong one in the same words."""

from __future__ import annotations

import math

from paredown.contracts import Option
from paredown.errors import UserError
from paredown.records.figure import Options


def number(shape: str, options: Options, option: Option, *, above: float | None = None, least: float = 0.0) -> float:
    """The option as a finite number, greater than `above` where that is given, else at least `least`."""
    value = options.get(option.name, option.default)
    asked = f"greater than {above:g}" if above is not None else f"from {least:g} on"
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UserError(f"The load shape {shape} has {option.name} {value!r}; give a number {asked}.")
    if value <= above if above is not None else value < least:
        raise UserError(f"The load shape {shape} has {option.name} {value:g}; give a number {asked}.")
    return float(value)


def seed(shape: str, options: Options, option: Option) -> int:
    value = options.get(option.name, option.default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"The load shape {shape} has {option.name} {value!r}; give a whole number.")
    return value
