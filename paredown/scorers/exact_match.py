"""The text equals a right answer, once both are normalized.

`answer`: one right answer, or several as a JSON list of texts: `["Paris", "City of Paris"]`.
`arguments.mode`: `exact` (the whole text, the default), `first_line` (the first line that is not empty), `contains`
(a right answer stands somewhere in the text, as whole words where the script puts spaces between words).
Normalized: Unicode NFKC, case folded, white space collapsed, punctuation and symbols at both ends taken away.

Its twin puts the (first) right answer beside near numbers where it is a number, the opposite of yes, no, true and
false, or else words of the question; a question of one word has no twin.
"""

from __future__ import annotations

import json
import unicodedata
from decimal import Decimal, InvalidOperation

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _text, _twin, _wrong

OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
MODES = ("exact", "first_line", "contains")


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    mode = item.arguments.get("mode", "exact")
    wanted = [_normalized(text) for text in _right_answers(item.answer)]
    if mode == "contains":
        text = _normalized(answer.text)
        return Score(item.id, float(any(_text.count_words(text, right) for right in wanted)))
    lines = [line for line in answer.text.splitlines() if line.strip()] or [""]
    return Score(item.id, float(_normalized(lines[0] if mode == "first_line" else answer.text) in wanted))


def _right_answers(answer: str) -> list[str]:
    try:
        several = json.loads(answer) if answer.startswith("[") else None
    except ValueError:
        several = None
    if isinstance(several, list) and several and all(isinstance(text, str) for text in several):
        return several
    return [answer]


def _normalized(text: str) -> str:
    text = _text.folded(text)
    start, end = 0, len(text)
    while start < end and _is_edge(text[start]):
        start += 1
    while end > start and _is_edge(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_edge(character: str) -> bool:
    return character == " " or unicodedata.category(character)[0] in "PS"


def twin(item: GoldenItem) -> GoldenItem | None:
    rights = _right_answers(item.answer)
    known = {_normalized(right) for right in rights}
    wrong = [text for text in _others(item, rights) if _normalized(text) not in known]
    return _twin.make(item, _ended(rights[0]), [_ended(text) for text in wrong[:3]])


def _ended(text: str) -> str:
    """With a full stop, which tells the model that nothing follows; it does not count when texts are compared."""
    return f"{text}." if text[-1:].isalnum() else text


def _others(item: GoldenItem, rights: list[str]) -> list[str]:
    right = rights[0].strip()
    opposite = OPPOSITES.get(right.casefold())
    if opposite:
        return [opposite.capitalize() if right[0].isupper() else opposite]
    try:
        number = Decimal(right)
    except InvalidOperation:
        return _wrong.words(item, rights)
    return [f"{other:f}" for other in _wrong.numbers(number)] if number.is_finite() else []


def chance(_: GoldenItem) -> float | None:
    """0: a text drawn at random is never right."""
    return 0.0


def check(item: GoldenItem) -> None:
    if not all(_normalized(right) for right in _right_answers(item.answer)):
        raise ValueError(f"field 'answer' is {item.answer!r}; expected texts with a letter or digit")
    mode = item.arguments.get("mode", "exact")
    if mode not in MODES:
        raise ValueError(f"field 'arguments.mode' is {mode!r}; expected one of {', '.join(MODES)}")


SCORER = Scorer(
    name="exact_match",
    summary="the normalized text equals (or contains) a right answer",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    twin=twin,
)
