"""`NAME:key=value,key=value`, as it is typed for traffic, load shapes and scorers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paredown.errors import UserError
from paredown.records.figure import Scalar

_WITH_OPTIONS = re.compile(r"(?P<name>.+?):(?P<options>\w+\s*=.*)", re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """A name with its options, as they were typed."""

    name: str
    options: Mapping[str, str]

    def typed(self, name: str, value: str) -> str:
        """What to type to have that option as well, or with that value."""
        options = {**self.options, name: value}
        return f"'{self.name}:{','.join(f'{key}={text}' for key, text in options.items())}'"


def parse(text: str) -> Asked:
    """Split at the first colon that options follow. A part without `=` belongs to the value before it (`rates=1,2`).

    Raises UserError for an option that is given twice.
    """
    found = None if Path(text).is_file() else _WITH_OPTIONS.fullmatch(text)
    if found is None:
        return Asked(text, {})
    options: dict[str, str] = {}
    name = ""
    for part in found["options"].split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            options[name] += f",{part.strip()}"
            continue
        if key in options:
            raise UserError(f"{text} gives {key} twice. Give it once.")
        name = key
        options[name] = value
    return Asked(found["name"], options)


def like(default: Scalar, value: str) -> Scalar:
    """The value as the kind of thing that the default is, else as it was typed, for somebody else to refuse."""
    if isinstance(default, int | float) and not isinstance(default, bool):
        found = finite(value)
        if found is not None:
            return int(found) if found % 1 == 0 and "." not in value else found
    return value


def finite(value: object) -> float | None:
    """A finite number, or None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
