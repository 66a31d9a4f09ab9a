"""Texts that say nearly the same: shared runs of words, compared as sets (Jaccard), exactly and in little time.

A text is its words in order, without case, full stops and other marks of a sentence; scripts without spaces are taken
letter by letter, and signs such as + and < count as words. Its shingles are all runs of three words. Two texts whose
Jaccard similarity is at least t share one of their rarest shingles, n − ⌈t·n⌉ + 1 of n (the prefix filter: Chaudhuri,
Ganti, Kaushik, ICDE 2006; Bayardo, Ma, Srikant, WWW 2007), so only few pairs are compared and none is missed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

WORDS = 3
THRESHOLD = 0.8

# Kana, Chinese characters, and the Thai, Lao, Myanmar and Khmer scripts do not put spaces between words.
_NO_SPACES = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[{_NO_SPACES}]|[^\W{_NO_SPACES}]+|[^\w\s.,;:!?'\"’‘“”…]")


@dataclass(frozen=True)
class Near:
    """The text of `others` at place `other` that is most like the text at place `text`."""

    text: int
    other: int
    similarity: float


def words(text: str) -> list[str]:
    """The words of a text in order, folded."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def shingles(text: str) -> frozenset[str]:
    """All runs of three words (the whole text when it has fewer), folded; empty when there is no word."""
    return runs(words(text))


def runs(found: Sequence[str]) -> frozenset[str]:
    """As `shingles`, of words."""
    if len(found) <= WORDS:
        return frozenset([" ".join(found)] if found else [])
    return frozenset(map(" ".join, zip(*(found[start:] for start in range(WORDS)), strict=False)))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard: shared shingles over all shingles of both; 0 when a text has none."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def groups(texts: Sequence[str], threshold: float = THRESHOLD) -> tuple[tuple[int, ...], ...]:
    """Places of texts, grouped: each text joins the first one before it that leads a group and is that like it.

    Every text is in one group; a group of one has no duplicate. Texts without a word join nothing.
    """
    sets = [shingles(text) for text in texts]
    rarest = _rarest_first(sets, threshold)
    leading: dict[str, list[int]] = {}
    found: dict[int, list[int]] = {}
    for place, own in enumerate(sets):
        alike = sorted({leader for key in rarest[place] for leader in leading.get(key, ())})
        leader = next((one for one in alike if similarity(own, sets[one]) >= threshold), None)
        if leader is not None:
            found[leader].append(place)
            continue
        found[place] = [place]
        for key in rarest[place]:
            leading.setdefault(key, []).append(place)
    return tuple(map(tuple, found.values()))


def nearest(texts: Sequence[str], others: Sequence[str], threshold: float = THRESHOLD) -> tuple[Near, ...]:
    """For each text that has one, the most similar of `others` at the threshold or above (the first of equal ones)."""
    sets, other_sets = [shingles(text) for text in texts], [shingles(text) for text in others]
    rarest = _rarest_first([*sets, *other_sets], threshold)
    holding: dict[str, list[int]] = {}
    for place, keys in enumerate(rarest[len(sets) :]):
        for key in keys:
            holding.setdefault(key, []).append(place)
    found = []
    for place, own in enumerate(sets):
        alike = {other for key in rarest[place] for other in holding.get(key, ())}
        near = max(((similarity(own, other_sets[other]), -other) for other in alike), default=(0.0, 0))
        if near[0] >= threshold:
            found.append(Near(place, -near[1], near[0]))
    return tuple(found)


def _rarest_first(sets: Sequence[frozenset[str]], threshold: float) -> list[list[str]]:
    """Of each set the rarest shingles that a set like it must share one of. Raises ValueError for no threshold."""
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"the threshold of near-duplicates is {threshold}; expected above 0 and at most 1")
    counts = Counter(shingle for own in sets for shingle in own)
    kept = (len(own) - math.ceil(threshold * len(own) - 1e-9) + 1 for own in sets)
    return [sorted(own, key=lambda s: (counts[s], s))[:keep] for own, keep in zip(sets, kept, strict=True)]
