"""The texts on which a candidate is farthest from the baseline, split at the first token on which they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from paredown.records.explanation import Choice, DriftedText
from paredown.records.golden import Fidelity, FidelityText, TextFidelity

Decode = Callable[[Sequence[int]], str]
MOST_TEXTS = 6
SHOWN_BEFORE, SHOWN_AFTER = 96, 48
"""Tokens shown around the divergence."""


def worst(
    fidelity: Fidelity, texts: Sequence[FidelityText], decode: Decode, own_answers: Mapping[str, str]
) -> tuple[DriftedText, ...]:
    """The worst texts by mean KL (by agreement where KL was not measured), worst first.

    decode:      token ids → text, by the baseline's tokenizer
    own_answers: what the candidate answered by itself, by text
    """
    by_id = {text.id: text for text in texts}
    known = [one for one in fidelity.texts if one.id in by_id and one.same_top1 and _differs(one)]
    ordered = sorted(known, key=lambda one: (-(_mean(one.kl) or 0.0), _agreement(one), one.id))
    return tuple(_shown(one, by_id[one.id], decode, own_answers.get(one.id, "")) for one in ordered[:MOST_TEXTS])


def _differs(one: TextFidelity) -> bool:
    return one.first_divergence is not None or any(value > 0 for value in one.kl)


def _shown(one: TextFidelity, text: FidelityText, decode: Decode, own_answer: str) -> DriftedText:
    shown = DriftedText(
        one.id, one.slice, len(one.same_top1), _mean(one.kl), max(one.kl, default=None), _agreement(one),
        one.first_divergence, own_answer=own_answer,
    )  # fmt: skip
    if one.first_divergence is None:
        return replace(shown, before=decode(text.token_ids[text.start :]))
    place = text.start + one.first_divergence
    begin = max(text.start, place - SHOWN_BEFORE)
    before, written = split(decode, text.token_ids[begin:place], text.token_ids[place])
    baseline, candidate = _choices(one, text.token_ids[begin:place], decode)
    return replace(
        shown,
        before=("… " if begin > text.start else "") + before,
        written=written,
        after=decode(text.token_ids[place + 1 : place + 1 + SHOWN_AFTER]),
        baseline=baseline,
        candidate=candidate,
    )


def _choices(one: TextFidelity, before: Sequence[int], decode: Decode) -> tuple[Choice | None, Choice | None]:
    """What the baseline and the candidate would write there; records of before they were kept do not say."""
    found = one.divergence
    if found is None:
        return None, None
    ours, theirs = (split(decode, before, token)[1] for token in (found.baseline_token, found.token))
    return (
        Choice(
            found.baseline_token, ours, _probability(found.baseline_logprob), _probability(found.candidate_of_baseline)
        ),
        Choice(found.token, theirs, _probability(found.baseline_of_candidate), _probability(found.logprob)),
    )


def split(decode: Decode, before: Sequence[int], token: int) -> tuple[str, str]:
    """Text before a token, and the text that the token adds: some tokens have their space only after others."""
    first, whole = decode(before), decode([*before, token])
    return first, whole[len(first) :] if whole.startswith(first) else decode([token])


def _probability(logprob: float | None) -> float | None:
    return None if logprob is None else min(1.0, math.exp(logprob))


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _agreement(one: TextFidelity) -> float:
    return sum(one.same_top1) / len(one.same_top1)
