"""Given texts stand in the answer, and others do not.

`arguments.all`: every one of these must stand in it; `arguments.any`: at least one; `arguments.none`: not one. Each is
a list of texts (JSON), and at least one list is given; `answer` is left out. Compared after Unicode NFKC, case folding
and collapsing of white space, as whole words where the script puts spaces between words ("cat" is not in "catalog").
An empty answer is always wrong: nothing was said, so nothing was avoided.

It has a twin where texts are wanted and others forbidden: the wanted ones beside each that is forbidden.
"""

from __future__ import annotations

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _text, _twin

LISTS = ("all", "any", "none")


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    wrong = _fault(item, _text.folded(answer.text))
    return Score(item.id, float(not wrong), wrong)


def _fault(item: GoldenItem, text: str) -> str:
    """The first thing that is wrong, or nothing."""
    if not text:
        return "the answer is empty"
    for wanted in _text.texts(item, "all"):
        if not _stands_in(text, wanted):
            return f"{wanted!r} is missing"
    one_of = _text.texts(item, "any")
    if one_of and not any(_stands_in(text, wanted) for wanted in one_of):
        return f"none of the {len(one_of)} texts of 'any' is there"
    for unwanted in _text.texts(item, "none"):
        if _stands_in(text, unwanted):
            return f"{unwanted!r} is there"
    return ""


def _stands_in(text: str, wanted: str) -> bool:
    return _text.count_words(text, _text.folded(wanted)) > 0


def twin(item: GoldenItem) -> GoldenItem | None:
    wanted = [*_text.texts(item, "all"), *_text.texts(item, "any")[:1]]
    return _twin.make(item, ", ".join(wanted), _text.texts(item, "none"))


def chance(item: GoldenItem) -> float | None:
    """0 where a text must be there; unknown where texts must only be avoided, which nearly any answer does."""
    return None if set(LISTS) & set(item.arguments) == {"none"} else 0.0


def check(item: GoldenItem) -> None:
    _text.refuse_other_arguments(item, LISTS)
    if not item.arguments:
        raise ValueError("none of 'arguments.all', 'arguments.any' and 'arguments.none' is given; expected a list")
    if item.answer:
        raise ValueError(f"field 'answer' is {item.answer!r}; expected \"\", as the texts stand in 'arguments'")
    lists = {name: {_text.folded(text) for text in _text.texts(item, name)} for name in LISTS}
    unwanted = lists["none"]
    if any(_text.count_words(wanted, no) for wanted in lists["all"] for no in unwanted):
        raise ValueError(
            "field 'arguments.none' forbids a text of 'arguments.all'; expected texts that can all be kept"
        )
    if lists["any"] and all(any(_text.count_words(wanted, no) for no in unwanted) for wanted in lists["any"]):
        raise ValueError("field 'arguments.none' forbids all of 'arguments.any'; expected texts that can all be kept")


SCORER = Scorer(
    name="contains",
    summary="given texts stand in the answer (all, any of them), and others do not",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    twin=twin,
    needs_answer=False,
)
