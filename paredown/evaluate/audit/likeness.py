"""Calibration data unlike what the model is asked in production: other kinds of text, other languages, other lengths.

A technique that sets its scales by Python source loses more on chat than one that sets them by prose: on the built-in
model, GPTQ in 4 bits has a KL of 0.60 then in place of 0.24.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paredown.evaluate.audit import wording
from paredown.evaluate.audit.token_kinds import TokenKinds
from paredown.hosts.tokenizer import Tokenizer
from paredown.records.audit import Finding
from paredown.records.calibration import Calibration
from paredown.stats import jensen_shannon

UNLIKE = 0.12
"""Divergence of the kinds of tokens (bits) from which on calibration data are unlike the prompts.

Measured with the built-in model's tokenizer: English prose and questions against each other and against the built-in
prompts have at most 0.11; Python source against them has 0.13 to 0.28, JSON and German more. See docs/golden.md.
"""
LEAST_TOKENS = 500
MOST_TOKENS = 100_000
LEAST_SHARE = 0.05
MISSING = 0.1
"""A language that has 5 % of the prompts and less than a tenth of that in the calibration data is missing there."""
NOT_TOLD = ("none", "latin")
"""What is said of texts without letters, and of those in Latin letters that could be in any of many languages."""
BEYOND = 0.25
"""Share of the prompts' tokens that may stand further in than any calibration token."""

Language = Callable[[str], str]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Production:
    """What the model is asked: the texts of golden prompts and traffic, and how many tokens each takes as it is sent.

    language: text → the language that it is in, for short
    """

    texts: tuple[str, ...]
    lengths: tuple[int, ...]
    language: Language


def find(production: Production, calibration: Calibration, tokenizer: Tokenizer, *, widest: int) -> tuple[Finding, ...]:
    """widest: inputs of the model's widest layer, which is the least number of tokens that span them all"""
    given = _drawn([sample.content for sample in calibration.samples], tokenizer)
    asked = _drawn(production.texts, tokenizer)
    return (
        *_too_few(given, widest),
        *_unlike(asked, given, calibration, tokenizer),
        *_languages(production, calibration),
        *_short(production, given, calibration),
    )


@dataclass(frozen=True)
class _Drawn:
    """Texts as token ids, drawn at random up to a number of tokens; `whole` when these are all."""

    ids: tuple[Ids, ...]
    whole: bool

    @property
    def tokens(self) -> int:
        return sum(map(len, self.ids))


def _drawn(texts: Sequence[str], tokenizer: Tokenizer) -> _Drawn:
    order = random.Random(0).sample(range(len(texts)), len(texts))  # noqa: S311  a sample, nothing secret
    ids: list[Ids] = []
    count = 0
    for place in order:
        if count >= MOST_TOKENS:
            return _Drawn(tuple(ids), whole=False)
        ids.append(np.array(tokenizer.encode(texts[place], special_tokens=False), dtype=np.int64))
        count += len(ids[-1])
    return _Drawn(tuple(ids), whole=True)


def _too_few(given: _Drawn, widest: int) -> list[Finding]:
    if not given.whole or given.tokens >= widest:
        return []
    sentence = (
        f"The calibration data have {wording.count(given.tokens, 'token')}, fewer than the {widest:,} inputs of the "
        f"model's widest layer: some of its weights will be set by nothing. Give at least {widest:,} tokens; 100,000 "
        "and more are usual."
    )
    return [Finding("few calibration tokens", sentence)]


def _unlike(asked: _Drawn, given: _Drawn, calibration: Calibration, tokenizer: Tokenizer) -> list[Finding]:
    if min(asked.tokens, given.tokens) < LEAST_TOKENS or sum(len(one) > 0 for one in asked.ids) < 2:
        sentence = (
            f"Whether the calibration data are like the prompts cannot be told from {asked.tokens:,} tokens of prompts "
            f"and {given.tokens:,} of calibration data ({LEAST_TOKENS} of each are needed)."
        )
        return [Finding("calibration not compared", sentence)]
    kinds = TokenKinds(tokenizer)
    asked_kinds, given_kinds = (
        [kinds.of(one.tolist()) for one in asked.ids],
        [kinds.of(one.tolist()) for one in given.ids],
    )
    number = len(kinds.names)
    of_asked, of_given = _counts(asked_kinds, number), _counts(given_kinds, number)
    value = jensen_shannon.jensen_shannon(of_given, of_asked)
    floor = jensen_shannon.compare(given_kinds, asked_kinds, seed=0).floor
    if value <= max(UNLIKE, floor):
        return []
    by_id = jensen_shannon.compare(given.ids, asked.ids, seed=0)
    differences = _largest_differences(kinds.names, of_given / of_given.sum(), of_asked / of_asked.sum())
    sentence = (
        f"The calibration data ({calibration.source}) are unlike the prompts: {differences}. The kinds of tokens "
        f"diverge by {value:.2f} (two halves of the prompts by {floor:.2f}; like text stays below {UNLIKE}), the "
        f"tokens themselves by {by_id.value:.2f} (halves {by_id.floor:.2f}; Jensen–Shannon, 1 = nothing in common). "
        "What is calibrated on them loses more on the prompts: calibrate on your own prompts, or on text like them."
    )
    return [Finding("calibration unlike production", sentence)]


def _counts(texts: Sequence[Ids], size: int) -> NDArray[np.float64]:
    return np.bincount(np.concatenate(list(texts)), minlength=size).astype(float)


def _largest_differences(names: Sequence[str], given: NDArray[np.float64], asked: NDArray[np.float64]) -> str:
    largest = np.argsort(-np.abs(given - asked), kind="stable")[:3]
    parts = [
        f"{wording.percent(float(given[k]))} of their tokens are {names[k]} ({wording.percent(float(asked[k]))} in the "
        "prompts)"
        if place == 0
        else f"{wording.percent(float(given[k]))} {names[k]} ({wording.percent(float(asked[k]))})"
        for place, k in enumerate(largest)
    ]
    return ", ".join(parts)


def _languages(production: Production, calibration: Calibration) -> list[Finding]:
    """Languages of the prompts that the calibration data hardly have, by letters."""
    asked = _by_language(production.texts, production.language)
    given = _by_language([sample.content for sample in calibration.samples], production.language)
    missing = {
        name: share for name, share in asked.items() if share >= LEAST_SHARE and given.get(name, 0.0) < MISSING * share
    }
    if not missing or not given:
        return []
    shown = ", ".join(
        f"{name} {wording.percent(share)} of the prompts and {wording.percent(given.get(name, 0.0))} of the data"
        for name, share in sorted(missing.items(), key=lambda one: -one[1])
    )
    sentence = (
        f"The calibration data hardly have languages that the prompts have ({shown}): these will suffer most. Add text "
        "in them."
    )
    return [Finding("calibration language", sentence)]


def _by_language(texts: Sequence[str], language: Language) -> dict[str, float]:
    """Share of each language by letters; texts whose language is not told are left out."""
    letters: Counter[str] = Counter()
    for text in texts:
        name = language(text)
        if name not in NOT_TOLD:
            letters[name] += len(text)
    return {name: count / letters.total() for name, count in letters.items()}


def _short(production: Production, given: _Drawn, calibration: Calibration) -> list[Finding]:
    """Conversations and texts of their own that are shorter than the prompts: far positions are never seen."""
    longest = max(len(one) for one in given.ids) if given.ids else 0
    total = sum(production.lengths)
    beyond = sum(max(0, length - longest) for length in production.lengths)
    if calibration.continuous or not total or beyond <= BEYOND * total:
        return []
    sentence = (
        f"{wording.percent(beyond / total)} of the prompts' tokens stand behind position {longest:,}, where the "
        "longest sample of the calibration data ends: nothing is calibrated for them. Add samples as long as the "
        f"prompts (the longest has {max(production.lengths):,} tokens)."
    )
    return [Finding("calibration too short", sentence)]
