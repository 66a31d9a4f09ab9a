"""Records to JSON and back, with the standard library only (isolated environments read records too).

Tuples become lists, enumerations their values, paths strings; bytes are not allowed (bulk data are files named
by digest). Unknown is `null`; NaN and infinity are refused, because a null or NaN that turns into a number moves
a figure.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from paredown.errors import RecordError

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """The record as JSON-ready plain data. Raises RecordError for NaN, infinity or an unknown type."""
    if value is None or (isinstance(value, str | bool | int) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RecordError(f"A record cannot hold {value!r}: leave the figure out and say why instead.")
        return value
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [to_plain(v) for v in value]
    raise RecordError(f"A record cannot hold a {type(value).__name__}.")


def dumps(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, UTF-8 kept. Equal records give equal text."""
    return json.dumps(to_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def loads(cls: type[T], text: str) -> T:
    """The record of class `cls` that `text` holds. Raises RecordError when it does not fit."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise RecordError(f"Not JSON, so no {cls.__name__}: {error}") from error
    record: T = from_plain(cls, plain)
    return record


def from_plain(cls: Any, plain: Any) -> Any:
    """Plain data to a value of type `cls` (dataclass, enum, tuple, Mapping, optional, scalar)."""
    if cls is Any or cls is object:
        return plain
    origin = get_origin(cls)
    if origin is typing.Annotated:
        return from_plain(get_args(cls)[0], plain)
    if origin is Union or origin is types.UnionType:
        return _from_union(get_args(cls), plain)
    if origin in (tuple, list, Sequence):
        return _from_sequence(cls, plain)
    if origin in (dict, Mapping):
        key_type, value_type = get_args(cls)
        return {from_plain(key_type, k): from_plain(value_type, v) for k, v in plain.items()}
    if origin is typing.Literal:
        return plain
    if dataclasses.is_dataclass(cls):
        return _from_mapping(cls, plain)
    return _from_scalar(cls, plain)


def _from_scalar(cls: Any, plain: Any) -> Any:
    if isinstance(cls, type) and issubclass(cls, enum.Enum):
        return cls(plain)
    if cls is Path:
        return Path(plain)
    if cls is float and isinstance(plain, int) and not isinstance(plain, bool):
        return float(plain)
    if cls is types.NoneType and plain is None:
        return None
    if not isinstance(plain, cls) or (cls in (int, float) and isinstance(plain, bool)):
        raise RecordError(f"Expected {cls.__name__}, found {plain!r}.")
    return plain


def _from_union(options: tuple[Any, ...], plain: Any) -> Any:
    if plain is None and types.NoneType in options:
        return None
    failures = []
    for option in options:
        if option is types.NoneType:
            continue
        try:
            return from_plain(option, plain)
        except (RecordError, ValueError, TypeError, AttributeError) as error:
            failures.append(str(error))
    raise RecordError(f"{plain!r} fits none of {options}: {'; '.join(failures)}")


def _from_sequence(cls: Any, plain: Any) -> Any:
    if not isinstance(plain, list | tuple):
        raise RecordError(f"Expected a list, found {plain!r}.")
    arguments = get_args(cls)
    if get_origin(cls) is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return tuple(from_plain(a, p) for a, p in zip(arguments, plain, strict=True))
    items = tuple(from_plain(arguments[0], p) for p in plain)
    return list(items) if get_origin(cls) is list else items


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _from_mapping(cls: Any, plain: Any) -> Any:
    if not isinstance(plain, dict):
        raise RecordError(f"Expected a mapping for {cls.__name__}, found {plain!r}.")
    hints = _hints(cls)
    unknown = sorted(set(plain) - set(hints))
    if unknown:
        raise RecordError(f"{cls.__name__} has no field {', '.join(unknown)}.")
    try:
        return cls(**{name: from_plain(hints[name], value) for name, value in plain.items()})
    except TypeError as error:
        raise RecordError(f"{cls.__name__}: {error}") from error
