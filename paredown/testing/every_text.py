"""A record with every text in it changed: for tests that nothing from outside acts as markup."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

Record = TypeVar("Record")


def changed(record: Record, change: Callable[[str], str], keep: Collection[str] = ()) -> Record:
    """A copy with `change` applied to every string, keys of mappings included; fields named in `keep` stay."""
    found: Any = _changed(record, change, keep)
    return found  # type: ignore[no-any-return]  # it has the type of the record it was made from


def _changed(value: Any, change: Callable[[str], str], keep: Collection[str]) -> Any:
    if isinstance(value, enum.Enum):
        return value
    if isinstance(value, str):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_changed(part, change, keep) for part in value)
    if isinstance(value, Mapping):
        return {_changed(k, change, keep): _changed(v, change, keep) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name not in keep]
        return dataclasses.replace(value, **{n: _changed(getattr(value, n), change, keep) for n in names})
    return value
