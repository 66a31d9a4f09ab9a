"""How much of a text stands word for word in others: the share of its words within shared runs of eight.

As the share of tokens in 8-gram overlaps by which contamination of test sets is measured (Llama 3, arXiv 2407.21783,
section 5.1.4). Unlike a similarity of sets it finds a short text inside a long one, and one that is spread over two.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paredown.stats import near_duplicates

RUN = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Numbers = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Covered:
    """share: of the text's words, those in runs that the others hold together; `other` holds the most of them"""

    text: int
    other: int
    share: float


def covered(texts: Sequence[str], others: Sequence[str], *, most_texts: float = float("inf")) -> tuple[Covered, ...]:
    """Every text of which the others hold anything, in order. A text of fewer than eight words must be all of another.

    most_texts: runs that stand in more of the texts than this (instructions, examples) are taken out of all of them
    """
    numbers: dict[str, int] = {}
    own = [_numbered(near_duplicates.words(text), numbers, new=True) for text in texts]
    theirs = [_numbered(near_duplicates.words(text), numbers, new=False) for text in others]
    whole = {tuple(one): place for place, one in reversed(list(enumerate(theirs))) if 0 < len(one) < RUN}
    hashes = [_hashes(np.array(one, dtype=np.uint64)) for one in own]
    common = _in_many(hashes, most_texts)
    holder = _holders(theirs, hashes)
    found = []
    for place, (one, runs) in enumerate(zip(own, hashes, strict=True)):
        if len(one) < RUN:
            if (other := whole.get(tuple(one))) is not None:
                found.append(Covered(place, other, 1.0))
            continue
        counting = ~np.isin(runs, common)
        held = np.array([run in holder for run in runs.tolist()]) & counting
        if held.any():
            most = Counter(holder[run] for run in runs[held].tolist()).most_common(1)[0][0]
            found.append(Covered(place, most, float(_words_in(held).sum() / _words_in(counting).sum())))
    return tuple(found)


def _numbered(words: Sequence[str], numbers: dict[str, int], *, new: bool) -> list[int]:
    """Words as numbers from 1; 0 for one that is not known, unless it is to be."""
    if new:
        return [numbers.setdefault(word, len(numbers) + 1) for word in words]
    return [numbers.get(word, 0) for word in words]


def _hashes(numbers: Numbers) -> Numbers:
    """One 64-bit number for each run of eight, by Horner's rule; overflow is meant."""
    count = max(0, len(numbers) - RUN + 1)
    hashed = np.zeros(count, dtype=np.uint64)
    for start in range(RUN):
        hashed = (hashed + numbers[start : start + count]) * _FACTOR
        hashed ^= hashed >> np.uint64(29)
    return hashed


def _in_many(hashes: Sequence[Numbers], most: float) -> Numbers:
    """Runs that stand in more than `most` texts."""
    if not hashes:
        return np.zeros(0, dtype=np.uint64)
    runs, counts = np.unique(np.concatenate([np.unique(one) for one in hashes]), return_counts=True)
    return np.asarray(runs[counts > most], dtype=np.uint64)


def _holders(theirs: Sequence[Sequence[int]], hashes: Sequence[Numbers]) -> dict[int, int]:
    """For each run of the texts that others hold, the first of these."""
    if not theirs or not hashes:
        return {}
    gap = [0] * (RUN - 1)  # no run reaches from one text into the next
    flat = np.fromiter(itertools.chain.from_iterable((*one, *gap) for one in theirs), dtype=np.uint64)
    ends = np.cumsum([len(one) + len(gap) for one in theirs])
    runs = _hashes(flat)
    places = np.flatnonzero(np.isin(runs, np.concatenate(hashes)))
    holders = np.searchsorted(ends, places, side="right")
    return dict(zip(runs[places][::-1].tolist(), holders[::-1].tolist(), strict=True))


def _words_in(runs: Mask) -> Mask:
    """The words of a text that lie in any of these runs."""
    return np.asarray(np.convolve(runs, np.ones(RUN)) > 0.5)
