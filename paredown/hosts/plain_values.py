"""Plain values as JSON, between a process that is trusted and one that is not (shut_in.py, which loads this by path).

A list stands for what JSON has no form of: its first part says which kind it is. Standard library only.
"""

from __future__ import annotations

import builtins
from typing import Any


class CannotCross(BaseException):
    """A test passes something to the function that is no plain value."""


class Opaque:
    """What the code gave and is no plain value: equal to nothing but itself."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"a {self.kind}"


def pack(value: Any, *, strict: bool) -> Any:
    """JSON of a plain value. strict: raises CannotCross for any other, else marks it as opaque."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        kind = next(kind for kind in (list, tuple, set, frozenset) if isinstance(value, kind))
        return [kind.__name__, *(pack(part, strict=strict) for part in value)]
    if isinstance(value, dict):
        return ["dict", *([pack(k, strict=strict), pack(v, strict=strict)] for k, v in value.items())]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if strict:
        raise CannotCross(type(value).__name__)
    return ["opaque", type(value).__name__]


def unpack(packed: Any) -> Any:
    """The value again. Raises ValueError or TypeError for what `pack` does not write."""
    if not isinstance(packed, list):
        return packed
    kind, *parts = packed
    if kind in ("list", "tuple", "set", "frozenset"):
        return getattr(builtins, kind)(unpack(part) for part in parts)
    if kind == "dict":
        return {unpack(key): unpack(value) for key, value in parts}
    if kind == "complex":
        return complex(*parts)
    if kind == "bytes":
        return bytes.fromhex(parts[0])
    return Opaque(str(parts[0]))
