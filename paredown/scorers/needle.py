"""The answer holds the word that was hidden in the text, and none of the others of its kind.

`answer`: the word asked for. `arguments.others`: a list (JSON) of words of the same form that stand in the text too and
are wrong. `arguments.lead` (optional): how the answer would begin, for the twin. Texts compare as in `contains`: whole
words after Unicode NFKC and case folding. An answer that lists all of them found nothing, and is wrong.
Kept of each score: the item's tags `length` and `depth`, by which `summarize` counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.figure import Scalar
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _text, _twin

ARGUMENTS = ("others", "lead")
AXES = ("length", "depth")


def score(item: GoldenItem, answer: Answer) -> Score:
    details: dict[str, Scalar] = {axis: item.tags[axis] for axis in AXES if axis in item.tags}
    if answer.failure:
        return Score(item.id, None, answer.failure, details)
    text = _text.folded(answer.text)
    wrong = [other for other in _text.texts(item, "others") if _stands_in(text, other)]
    if not _stands_in(text, item.answer):
        return Score(item.id, 0.0, f"says {wrong[0]!r} instead" if wrong else "does not say the word", details)
    return Score(item.id, float(not wrong), f"says {wrong[0]!r} too" if wrong else "", details)


def _stands_in(text: str, word: str) -> bool:
    return _text.count_words(text, _text.folded(word)) > 0


def summarize(scores: Sequence[Score]) -> str:
    """How many were found at each length and at each depth."""
    parts = [part for axis in AXES if (part := _by(axis, scores))]
    return f"Needles found {'; '.join(parts)}." if parts else ""


def _by(axis: str, scores: Sequence[Score]) -> str:
    found: dict[str, list[float]] = {}
    for one in scores:
        if one.value is not None and axis in one.details:
            found.setdefault(str(one.details[axis]), []).append(one.value)
    places = sorted(found, key=lambda place: (len(place), place))
    return f"by {axis}: " + ", ".join(f"{p} {sum(found[p]):g} of {len(found[p])}" for p in places) if found else ""


def twin(item: GoldenItem) -> GoldenItem | None:
    """The word among all words of its form that stand in the text, each behind the lead where there is one."""
    lead = item.arguments.get("lead")
    words = [item.answer, *_text.texts(item, "others")]
    texts = [f"{lead} {word}." for word in words] if lead else words
    return _twin.make(item, texts[0], texts[1:])


def chance(_: GoldenItem) -> float | None:
    """0: a text that is written at random holds no word asked for."""
    return 0.0


def check(item: GoldenItem) -> None:
    _text.refuse_other_arguments(item, ARGUMENTS)
    others = _text.texts(item, "others")
    if not others:
        raise ValueError("field 'arguments.others' is missing; expected a list of wrong words that stand in the text")
    if not _text.folded(item.answer):
        raise ValueError("field 'answer' is empty; expected the word that is to be found")
    if not isinstance(item.arguments.get("lead", ""), str):
        raise ValueError(f"field 'arguments.lead' is {item.arguments['lead']!r}; expected a text")  # noqa: TRY004 check() raises ValueError
    haystack = _text.folded("\n".join(message.content for message in item.messages))
    for name, word in (("answer", item.answer), *(("arguments.others", other) for other in others)):
        if not _stands_in(haystack, word):
            raise ValueError(f"field {name!r} has {word!r}, which does not stand in the text; expected one that does")
    folded = [_text.folded(word) for word in (item.answer, *others)]
    if any(_text.count_words(a, b) for i, a in enumerate(folded) for j, b in enumerate(folded) if i != j):
        raise ValueError("field 'arguments.others' has a word that stands in the answer or in another; expected others")


SCORER = Scorer(
    name="needle",
    summary="the answer holds the word hidden in a long text, and no other of its kind",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    summarize=summarize,
    twin=twin,
)
