"""Golden sets: the rows of any loader as checked items (`rows`), split into screening and confirmation."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

from paredown import registry
from paredown.contracts import Loader, RawRow
from paredown.errors import UserError
from paredown.evaluate import rows
from paredown.records import codec
from paredown.records.golden import GoldenItem


@dataclass(frozen=True)
class GoldenSet:
    """Checked items in the order in which they were found.

    digest: over the items sorted by id, without the place they came from
    """

    items: tuple[GoldenItem, ...]
    digest: str
    sources: tuple[str, ...]

    @property
    def slices(self) -> tuple[str, ...]:
        return tuple(sorted({item.slice for item in self.items}))


class Split(NamedTuple):
    """Two parts of a golden set that share no item and no cluster; each in the order of the set."""

    screening: GoldenSet
    confirmation: GoldenSet


def load(sources: Sequence[str]) -> GoldenSet:
    """The items of all sources. Raises UserError naming file, line and field of the first thing that is wrong."""
    items: dict[str, GoldenItem] = {}
    for source in sources:
        before = len(items)
        for row in _loader(source).load(source):
            item = rows.parse(row)
            if item.id in items:
                _refuse_repeated(row, items[item.id])
            items[item.id] = item
        if len(items) == before:
            raise UserError(f'{source} holds no golden item; expected lines such as {{"prompt": "…", "answer": "…"}}.')
    if not items:
        raise UserError(
            "No golden set was given. Name a file (--golden my.jsonl) or the built-in set (--golden builtin)."
        )
    return _golden_set(items.values(), sources)


def _refuse_repeated(row: RawRow, first: GoldenItem) -> NoReturn:
    if "id" not in row.fields:
        raise UserError(f"{row.where}: asks the same, with the same answer, as {first.where}; leave one of them out.")
    raise UserError(
        f"{row.where}: the id {first.id!r} is already that of {first.where}; "
        "give each item an id of its own, and leave out items that repeat another."
    )


def _golden_set(items: Iterable[GoldenItem], sources: Sequence[str]) -> GoldenSet:
    kept = tuple(items)
    plain = [dataclasses.replace(item, where="") for item in sorted(kept, key=lambda item: item.id)]
    return GoldenSet(kept, codec.digest(plain), tuple(sources))


def _loader(source: str) -> Loader:
    loaders = [registry.loader(name) for name in registry.names("loaders")]
    claiming = [loader for loader in loaders if loader.claims(source)]
    if len(claiming) == 1:
        return claiming[0]
    known = "; ".join(f"{loader.name}: {loader.summary}" for loader in loaders)
    if claiming:
        raise UserError(f"{source} is claimed by several loaders: {', '.join(loader.name for loader in claiming)}.")
    if not Path(source).exists():
        near = difflib.get_close_matches(source, ["builtin"], cutoff=0.7)
        hint = "Did you mean 'builtin'? " if near else ""
        raise UserError(f"The golden set {source!r} is neither a file nor a known set. {hint}Known forms: {known}.")
    raise UserError(f"No loader reads {source!r}. Known forms: {known}.")


def split(
    golden: GoldenSet, seed: int, screening_fraction: float = 0.4, *, screened: frozenset[str] = frozenset()
) -> Split:
    """Screening and held-back items: the fraction of every slice, clusters whole.

    It follows from the seed and the ids alone, not from the order of the file. `screened`: ids that an earlier
    run has already used for screening; they (and their clusters) stay there, so that nothing seen before confirms.
    """
    if not 0.0 < screening_fraction < 1.0:
        raise UserError(f"The screening fraction is {screening_fraction}; expected a number between 0 and 1.")
    groups: dict[str, list[GoldenItem]] = {}
    for item in golden.items:
        groups.setdefault(item.unit, []).append(item)
    by_slice: dict[str, list[str]] = {}
    for key, members in groups.items():
        by_slice.setdefault(min(members, key=lambda item: item.id).slice, []).append(key)
    chosen: set[str] = set()
    for keys in by_slice.values():
        chosen |= _take(keys, groups, _order(seed, screened, groups), screening_fraction)
    picked = {item.id for key in chosen for item in groups[key]}
    return Split(
        _golden_set((item for item in golden.items if item.id in picked), golden.sources),
        _golden_set((item for item in golden.items if item.id not in picked), golden.sources),
    )


def _order(
    seed: int, screened: frozenset[str], groups: Mapping[str, Sequence[GoldenItem]]
) -> Callable[[str], tuple[bool, str]]:
    """Sort key of groups: those already screened first, the others by a hash of seed and name."""

    def key(group: str) -> tuple[bool, str]:
        seen = any(item.id in screened for item in groups[group])
        return not seen, hashlib.sha256(f"{seed}\n{group}".encode()).hexdigest()

    return key


def _take(
    keys: Sequence[str],
    groups: Mapping[str, Sequence[GoldenItem]],
    order: Callable[[str], tuple[bool, str]],
    fraction: float,
) -> set[str]:
    """Groups of one slice whose items come nearest to the fraction, taken in order; all that were screened before."""
    wanted = fraction * sum(len(groups[key]) for key in keys)
    taken: set[str] = set()
    count = 0
    for key in sorted(keys, key=order):
        is_fresh, _ = order(key)
        if is_fresh and abs(count + len(groups[key]) - wanted) > abs(count - wanted):
            continue
        taken.add(key)
        count += len(groups[key])
    return taken
