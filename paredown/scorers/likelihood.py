"""The choice with the largest log-probability is the model's answer.

Sum over the tokens of each choice of log p(token | conversation, earlier tokens of the choice), as in multiple-choice
scoring of lm-evaluation-harness (`acc`). A long choice is less likely than a short one whatever they say;
`arguments.normalize` divides the sum by the choice's length:

`none` (default)  for choices of like length, and for choices that begin alike
`characters`      Unicode code points: `acc_norm` of lm-evaluation-harness, whose code divides by `len(choice)`
`bytes`           of UTF-8: the same for ASCII; a letter of Chinese counts three, one of Russian two
`tokens`          the mean log-probability of a token; depends on the tokenizer, so not comparable between models

The harness puts a space before each choice and does not count it; here a choice follows the chat template as written.
"""

from __future__ import annotations

import math

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score

NORMALIZATIONS = ("none", "tokens", "bytes", "characters")


def score(item: GoldenItem, answer: Answer) -> Score:
    """1 when the right choice is the most likely one, else 0. A tie goes to the first choice (as numpy.argmax)."""
    if answer.failure:
        return Score(item.id, None, answer.failure)
    if len(answer.choice_logprobs) != len(item.choices):
        found = len(answer.choice_logprobs)
        return Score(item.id, None, f"{found} of {len(item.choices)} choices have a log-probability")
    if not all(math.isfinite(value) for value in answer.choice_logprobs):
        return Score(item.id, None, "a log-probability is not a finite number")
    values = _normalized(item, answer)
    best = max(range(len(values)), key=lambda index: (values[index], -index))
    ties = sum(value == values[best] for value in values)
    return Score(item.id, float(best == int(item.answer)), f"{ties} choices are equally likely" if ties > 1 else "")


def _normalized(item: GoldenItem, answer: Answer) -> list[float]:
    way = item.arguments.get("normalize", "none")
    if way == "tokens":
        lengths = [float(max(1, count)) for count in answer.choice_tokens]
    elif way == "bytes":
        lengths = [float(len(choice.encode())) for choice in item.choices]
    elif way == "characters":
        lengths = [float(len(choice)) for choice in item.choices]
    else:
        lengths = [1.0] * len(item.choices)
    return [value / length for value, length in zip(answer.choice_logprobs, lengths, strict=True)]


def chance(item: GoldenItem) -> float | None:
    return 1.0 / len(item.choices)


def check(item: GoldenItem) -> None:
    if len(item.choices) < 2:
        raise ValueError(f"field 'choices' has {len(item.choices)} entries; expected at least two texts")
    if any(not choice for choice in item.choices):
        raise ValueError("field 'choices' has an empty text; expected texts that are not empty")
    if len(set(item.choices)) != len(item.choices):
        raise ValueError("field 'choices' has the same text twice; expected different texts")
    if not (item.answer.isascii() and item.answer.isdigit() and int(item.answer) < len(item.choices)):
        raise ValueError(
            f"field 'answer' is {item.answer!r}; expected the number of the right choice, 0 to {len(item.choices) - 1}"
        )
    way = item.arguments.get("normalize", "none")
    if way not in NORMALIZATIONS:
        raise ValueError(f"field 'arguments.normalize' is {way!r}; expected one of {', '.join(NORMALIZATIONS)}")


SCORER = Scorer(
    name="likelihood",
    summary="the right one of several given answers has the largest log-probability",
    version=1,
    likelihood=True,
    needs=ScoringLevel.TARGET_ONLY,
    score=score,
    chance=chance,
    check=check,
)
