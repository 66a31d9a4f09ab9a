"""A regular expression is found in the text.

`answer`: the pattern, in Python's notation.
`arguments.mode`: `search` (anywhere, the default), `fullmatch` (the whole text without the white space around it), or
`first_group_equals` (anywhere, and its first group, without the white space around it, is `arguments.value`).
`arguments.flags`: letters of `i` (case does not count, nor in the value), `m` (^ and $ at every line), `s` (. is any).

A pattern that runs away (`(a|a)*b`) is given up after a second, and the answer is not scored: matching is the library
`regex`'s, because Python's own `re` cannot be stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _text

MODES = ("search", "fullmatch", "first_group_equals")
ARGUMENTS = ("mode", "flags", "value")
FLAGS: Mapping[str, str] = {"i": "IGNORECASE", "m": "MULTILINE", "s": "DOTALL"}
LONGEST_S = 1.0


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    mode, flags = item.arguments.get("mode", "search"), str(item.arguments.get("flags", ""))
    pattern = _compiled(item.answer, flags)
    try:
        if mode == "fullmatch":
            found = pattern.fullmatch(answer.text.strip(), timeout=LONGEST_S)
        else:
            found = pattern.search(answer.text, timeout=LONGEST_S)
    except TimeoutError:
        return Score(item.id, None, f"the pattern took longer than {LONGEST_S:g} s on this answer")
    if found is None or mode != "first_group_equals":
        return Score(item.id, float(found is not None))
    wanted, group = str(item.arguments["value"]).strip(), (found.group(1) or "").strip()
    same = group.casefold() == wanted.casefold() if "i" in flags else group == wanted
    return Score(item.id, float(same))


def _compiled(pattern: str, flags: str) -> Any:
    import regex

    chosen = 0
    for letter in flags:
        chosen |= getattr(regex, FLAGS[letter])
    return regex.compile(pattern, chosen | regex.VERSION0)


def chance(_: GoldenItem) -> float | None:
    """Unknown: a pattern may ask for one sentence or for any digit."""
    return None


def check(item: GoldenItem) -> None:
    import regex

    _text.refuse_other_arguments(item, ARGUMENTS)
    mode, flags = item.arguments.get("mode", "search"), item.arguments.get("flags", "")
    if mode not in MODES:
        raise ValueError(f"field 'arguments.mode' is {mode!r}; expected one of {', '.join(MODES)}")
    if not isinstance(flags, str) or set(flags) - set(FLAGS):
        raise ValueError(f"field 'arguments.flags' is {flags!r}; expected letters of {', '.join(FLAGS)}")
    try:
        pattern = _compiled(item.answer, flags)
    except regex.error as error:
        raise ValueError(f"field 'answer' is no pattern: {error}; expected a regular expression") from error
    if pattern.fullmatch("", timeout=LONGEST_S) is not None:
        raise ValueError(f"field 'answer' is {item.answer!r}, which fits the empty text; expected one that does not")
    if (mode == "first_group_equals") != ("value" in item.arguments):
        raise ValueError("field 'arguments.value' goes with the mode 'first_group_equals'; expected both or neither")
    if "value" in item.arguments and not str(item.arguments["value"]).strip():
        raise ValueError("field 'arguments.value' is empty; expected the text of the first group")
    if mode == "first_group_equals" and not pattern.groups:
        raise ValueError(
            f"field 'answer' is {item.answer!r}, which has no group; expected one such as 'Answer: (\\d+)'"
        )


SCORER = Scorer(
    name="regular_expression",
    summary="a regular expression is found in the text (or its first group is the right value)",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
)
