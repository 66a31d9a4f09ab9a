"""Loaders: golden items from files and data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from paredown.contracts.needs import Needs


@dataclass(frozen=True)
class RawRow:
    """One row of a data set as it was found, and where (`file:line`)."""

    fields: Mapping[str, object]
    where: str


@dataclass(frozen=True)
class Loader:
    """Reads golden items from a file or data set. `claims` says whether a source is meant for it."""

    name: str
    summary: str
    claims: Callable[[str], bool]
    load: Callable[[str], Iterable[RawRow]]
    needs: Needs = Needs()
