"""Options behind the name of a traffic or load shape: known, and of the right kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paredown.contracts import Option
from paredown.errors import UnknownNameError, UserError
from paredown.records.figure import Scalar
from paredown.spec.named_options import finite, like

INVALID = ("refuse", "clip", "skip")
CACHES = ("cold", "warm", "shared")


@dataclass(frozen=True)
class Reading:
    """How a traffic is read; each field is an option of the same name.

    limit:         so many requests at most, the first ones
    from_s, until_s: only what arrived in this span, in seconds after the first request
    time_scale:    of the load shape `replay`: 2 = twice as slow
    length_scale:  prompts, answers and shared blocks that many times as long
    output_tokens: length of every answer, in place of what the file says
    invalid:       what cannot be sent as it is: `refuse` the file, `clip` it to what can be, or `skip` it
    longest_gap_s: a longer wait between two requests of a replay is invalid
    cache:         what the prefix cache is to hold (`Traffic.cache`)
    block_tokens:  tokens that one of `hash_ids` stands for
    """

    limit: int | None = None
    from_s: float = 0.0
    until_s: float | None = None
    time_scale: float | None = None
    length_scale: float = 1.0
    output_tokens: int | None = None
    invalid: str = "refuse"
    longest_gap_s: float = 300.0
    cache: str | None = None
    block_tokens: int = 512


_WHOLE = ("limit", "output_tokens", "block_tokens")
_POSITIVE = ("until_s", "time_scale", "length_scale", "longest_gap_s")
_WORDS: Mapping[str, Sequence[str]] = {"invalid": INVALID, "cache": CACHES}
OPTIONS = tuple(field.name for field in dataclasses.fields(Reading))


def reading(source: str, options: Mapping[str, object]) -> Reading:
    """The options, checked. Raises UnknownNameError and UserError."""
    checked: dict[str, object] = {}
    for name, value in options.items():
        if name not in OPTIONS:
            raise UnknownNameError(f"option of the traffic {source}:", name, OPTIONS)
        checked[name] = _reading_value(source, name, value)
    read = dataclasses.replace(Reading(), **checked)  # type: ignore[arg-type]  # each value was checked by its name
    if read.until_s is not None and read.until_s <= read.from_s:
        raise UserError(
            f"The traffic {source} is asked for from_s={read.from_s:g} and until_s={read.until_s:g}, which leaves "
            "nothing. Give an until_s that is larger."
        )
    return read


def _reading_value(source: str, name: str, value: object) -> object:
    if name in _WORDS:
        if value not in _WORDS[name]:
            known = ", ".join(_WORDS[name][:-1]) + " or " + _WORDS[name][-1]
            raise UserError(f"The traffic {source} has {name}={value}; give {known}.")
        return value
    if name in _WHOLE:
        number = finite(value)
        if number is None or number % 1 or number < 1:
            raise UserError(f"The traffic {source} has {name}={value}; give a whole number from 1 on.")
        return int(number)
    number = finite(value)
    if number is None or number < 0 or (name in _POSITIVE and number == 0):
        least = "greater than 0" if name in _POSITIVE else "from 0 on"
        raise UserError(f"The traffic {source} has {name}={value}; give a number {least}.")
    return number


def shape_options(shape: str, known: Iterable[Option], options: Mapping[str, str]) -> dict[str, Scalar]:
    """A load shape's options with the types that it declares. Raises UnknownNameError for one that it does not."""
    declared = {option.name: option for option in known}
    found: dict[str, Scalar] = {}
    for name, value in options.items():
        if name not in declared:
            raise UnknownNameError(f"option of the load shape {shape}", name, declared)
        found[name] = like(declared[name].default, value)
    return found
