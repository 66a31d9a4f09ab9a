"""The last (or first) number in the text is the right one.

`answer`: a number. `arguments.which`: `last` (default) or `first`; `arguments.tolerance`: largest absolute difference
(default 0); `arguments.decimal`: `.` (default) or `,`, which decides `1.234` and `1,234` alone; everywhere else the
separators explain themselves (`1,234.5`, `1.234,5`, `1 234,5`, `1'234`, `3,5`; `1,2,3` is three numbers).

Its twin puts the number beside near ones, each as `The answer is 7.`: what a model makes of the question without
thinking aloud.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _twin, _wrong

GROUP_MARKS = " '’_\u00a0\u202f"
RUN = re.compile(
    rf"(?<!\w)[-+]?(?:\d{{1,3}}(?:[{GROUP_MARKS}]\d{{3}})+(?!\d)|\d+|(?<![.,])(?=[.,]\d))(?:[.,]\d+)*(?:[eE][-+]?\d{{1,3}}(?!\w))?"
)
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:[.,]\d{3})+")
SAME_CHARACTER = str.maketrans({"−": "-", "٫": ".", "٬": ",", "．": ".", "，": ","})


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    found = _numbers(answer.text, str(item.arguments.get("decimal", ".")))
    if not found:
        return Score(item.id, 0.0, "no number in the text")
    given = found[0 if item.arguments.get("which", "last") == "first" else -1]
    (right,) = _numbers(item.answer, str(item.arguments.get("decimal", ".")))
    tolerance = Decimal(str(item.arguments.get("tolerance", 0)))
    return Score(item.id, float(abs(given - right) <= tolerance))


def _numbers(text: str, decimal: str) -> list[Decimal]:
    runs = RUN.findall(text.translate(SAME_CHARACTER))
    return [number for run in runs for number in _values(run, decimal)]


def _values(run: str, decimal: str) -> list[Decimal]:
    """The number that a run of digits and separators writes, or the several of a list (`1,2,3`)."""
    mantissa, _, exponent = run.lower().partition("e")
    mantissa = re.sub(f"[{GROUP_MARKS}]", "", mantissa)
    kinds = {character for character in mantissa if character in ".,"}
    if not kinds:
        return [_decimal(mantissa, "", exponent)]
    point = max(kinds, key=mantissa.rfind)
    whole, _, fraction = mantissa.rpartition(point)
    if len(kinds) == 1 and GROUPED.fullmatch(mantissa) and (point in whole or point != decimal):
        return [_decimal(re.sub(r"[.,]", "", mantissa), "", exponent)]
    if point in whole or (len(kinds) == 2 and not GROUPED.fullmatch(whole)):
        return [number for part in mantissa.split(point) if part for number in _values(part, decimal)]
    return [_decimal(re.sub(r"[.,]", "", whole), fraction, exponent)]


def _decimal(whole: str, fraction: str, exponent: str) -> Decimal:
    number = Decimal(f"{whole}.{fraction}" if fraction else whole)
    return number.scaleb(int(exponent)) if exponent else number


def twin(item: GoldenItem) -> GoldenItem | None:
    decimal = str(item.arguments.get("decimal", "."))
    (right,) = _numbers(item.answer, decimal)
    tolerance = Decimal(str(item.arguments.get("tolerance", 0)))
    written = [f"{number:f}".replace(".", decimal) for number in (right, *_wrong.numbers(right, tolerance))]
    texts = [f"The answer is {number}." for number in written]
    return _twin.make(item, texts[0], texts[1:])


def chance(_: GoldenItem) -> float | None:
    """0: a number drawn at random is never right."""
    return 0.0


def check(item: GoldenItem) -> None:
    decimal = item.arguments.get("decimal", ".")
    if decimal not in (".", ","):
        raise ValueError(f"field 'arguments.decimal' is {decimal!r}; expected '.' or ','")
    written = item.answer.strip().translate(SAME_CHARACTER)
    if RUN.fullmatch(written) is None or len(_values(written, str(decimal))) != 1:
        raise ValueError(f"field 'answer' is {item.answer!r}; expected one number")
    if item.arguments.get("which", "last") not in ("last", "first"):
        raise ValueError(f"field 'arguments.which' is {item.arguments['which']!r}; expected 'last' or 'first'")
    try:
        tolerance = Decimal(str(item.arguments.get("tolerance", 0)))
    except InvalidOperation:
        tolerance = Decimal(-1)
    if not tolerance.is_finite() or tolerance < 0:
        found = item.arguments["tolerance"]
        raise ValueError(f"field 'arguments.tolerance' is {found!r}; expected a number of 0 or more")


SCORER = Scorer(
    name="number",
    summary="the last (or first) number in the text is the right one",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    twin=twin,
)
