"""How far two mixtures of things are from each other, beside how far two halves of one of them are.

Jensen–Shannon divergence in bits: 0 for the same shares, 1 for nothing in common (Lin, IEEE Transactions on Information
Theory 1991, 37:145–151). Samples of a large vocabulary differ by chance, the smaller the more; so the halves that
give the floor have as many things as the samples that are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
Ids = NDArray[np.int64]
SPLITS = 10


@dataclass(frozen=True)
class Divergence:
    """value: of the two; floor: the largest of two halves of the second; things: how many each sample had"""

    value: float
    floor: float
    things: int


def jensen_shannon(one: Counts, other: Counts) -> float:
    """Of two vectors of counts over the same things. Raises ValueError where one of them is empty."""
    if not one.sum() or not other.sum():
        raise ValueError("there is no divergence of nothing")
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2.0
    return float(_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2.0


def compare(texts: Sequence[Ids], reference: Sequence[Ids], seed: int) -> Divergence:
    """Texts (each the numbers of its things) against a reference that is split in two, several times at random.

    Raises ValueError where one of them is empty, or the reference has one text only.
    """
    texts, reference = [one for one in texts if len(one)], [one for one in reference if len(one)]
    if not texts or len(reference) < 2:
        raise ValueError("at least one text and a reference of two are needed")
    draw = np.random.default_rng(seed)
    size = max(int(one.max()) for one in (*texts, *reference)) + 1
    values, floors, things = [], [], []
    for _ in range(SPLITS):
        order = draw.permutation(len(reference))
        first, second = _cut([reference[place] for place in order])
        mixed = np.concatenate([texts[place] for place in draw.permutation(len(texts))])
        count = min(len(first), len(second), len(mixed))
        a, b, c = (np.bincount(one[:count], minlength=size).astype(float) for one in (first, second, mixed))
        values.append(jensen_shannon(c, a))
        floors.append(jensen_shannon(b, a))
        things.append(count)
    return Divergence(float(np.mean(values)), max(floors), min(things))


def _relative_entropy(p: Counts, middle: Counts) -> float:
    there = p > 0
    return float(np.sum(p[there] * np.log2(p[there] / middle[there])))


def _cut(texts: Sequence[Ids]) -> tuple[Ids, Ids]:
    """Two groups of whole texts with about as many things each."""
    ends = np.cumsum([len(one) for one in texts])
    at = min(max(1, int(np.searchsorted(ends, ends[-1] / 2)) + 1), len(texts) - 1)
    return np.concatenate(texts[:at]), np.concatenate(texts[at:])
