"""A regular expression is found in the text.

`answer`: the pattern, in Python's notation without look-around, back-references, and atomic or possessive parts.
`arguments.mode`: `search` (anywhere, the default), `fullmatch` (the whole text without the white space around it), or
`first_group_equals` (anywhere, and its first group, without the white space around it, is `arguments.value`).
`arguments.flags`: letters of `i` (case does not count, nor in the value), `m` (^ and $ at every line), `s` (. is any).

No pattern can hang a run: it is not run by backtracking, as Python's `re` does, but by following all its ways through
the text at once (K. Thompson, CACM 11(6), 1968; with groups by R. Pike, as R. Cox describes it in "Regular Expression
Matching: the Virtual Machine Approach", 2009). Time is at most pattern × text, and both are bounded. The match is that
of `re`; the first group too, save that a repeat which takes nothing does not empty it (`(a*)+`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from re import _parser  # type: ignore[attr-defined]  # the only parser of Python's notation; typeshed leaves it out
from typing import Any, NamedTuple

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score

MODES = ("search", "fullmatch", "first_group_equals")
ARGUMENTS = ("mode", "flags", "value")
FLAGS: Mapping[str, re.RegexFlag] = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
MOST_STEPS = 1_000
MOST_CHARACTERS = 40_000
MOST_WORK = 4_000_000  # steps × characters: four seconds at the worst
ASSERTIONS = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": r"\A",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
    "AT_END": "$",
    "AT_END_STRING": r"\Z",
}
CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
UNSUPPORTED = {
    "ASSERT": "look-around",
    "ASSERT_NOT": "look-around",
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a conditional group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}


class Group(NamedTuple):
    """Where the first group begins and ends; -1 = not (yet) passed."""

    start: int = -1
    end: int = -1


@dataclass
class Step:
    """One step of a program: takes a character, or passes to the steps `then` (the first is tried first).

    kind: `take`, `pass`, `at` (passes where `test` holds), `open` or `close` (the first group), `done`
    """

    kind: str
    test: Callable[[str, int], bool] | None = None
    then: list[int] = field(default_factory=list)


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    mode, flags = item.arguments.get("mode", "search"), str(item.arguments.get("flags", ""))
    text = answer.text.strip() if mode == "fullmatch" else answer.text
    program = _program(item.answer, flags)
    if mode == "fullmatch" and len(text) > _limit(program):
        return Score(item.id, None, f"the text is longer than the {_limit(program)} characters that are looked at")
    group = _run(program, text, whole=mode == "fullmatch")
    if group is None:
        return Score(item.id, 0.0, "the pattern is not found")
    if mode != "first_group_equals":
        return Score(item.id, 1.0)
    found, value = text[group.start : group.end].strip(), str(item.arguments["value"]).strip()
    if "i" in flags:
        found, value = found.casefold(), value.casefold()
    return Score(item.id, float(found == value))


def _limit(program: tuple[Step, ...]) -> int:
    """How many characters of the text are looked at."""
    return min(MOST_CHARACTERS, MOST_WORK // len(program))


def _run(program: tuple[Step, ...], text: str, *, whole: bool) -> Group | None:
    """The first group of the leftmost match, preferring what Python's `re` prefers; None = no match."""
    best: Group | None = None
    active: dict[int, Group] = {}
    for place in range(min(len(text), _limit(program)) + 1):
        reached: dict[int, Group] = {}
        for number, group in active.items():
            _follow(program, number, group, text, place, reached)
        if best is None and (place == 0 or not whole):
            _follow(program, 0, Group(), text, place, reached)
        active = {}
        for number, group in reached.items():
            step = program[number]
            if step.kind == "done" and (not whole or place == len(text)):
                best = group
                break
            if step.kind == "take" and step.test is not None and place < len(text) and step.test(text, place):
                active.setdefault(step.then[0], group)
        if not active and (best is not None or whole):
            break
    return best


def _follow(
    program: tuple[Step, ...], number: int, group: Group, text: str, place: int, reached: dict[int, Group]
) -> None:
    """Adds to `reached` every step that waits at this place, in the order of preference."""
    waiting = [(number, group)]
    while waiting:
        number, group = waiting.pop()
        if number in reached:
            continue
        reached[number] = group
        step = program[number]
        if step.kind == "take" or (step.kind == "at" and step.test is not None and not step.test(text, place)):
            continue
        if step.kind == "open":
            group = Group(place)
        elif step.kind == "close":
            group = Group(group.start, place)
        waiting.extend((following, group) for following in reversed(step.then))


@functools.lru_cache(maxsize=256)
def _program(pattern: str, flags: str) -> tuple[Step, ...]:
    """Raises ValueError for what is not a pattern, needs backtracking, or is too large."""
    chosen = functools.reduce(lambda one, other: one | other, (FLAGS[letter] for letter in flags), re.RegexFlag(0))
    try:
        parsed = _parser.parse(pattern, int(chosen))
    except re.error as error:
        raise ValueError(f"is no pattern: {error.msg} at position {error.pos}") from error
    except (RecursionError, OverflowError) as error:
        raise ValueError("is no pattern: nested too deeply, or repeated too often") from error
    steps: list[Step] = []
    _write(steps, parsed, int(parsed.state.flags))
    steps.append(Step("done"))
    return tuple(steps)


def _add(steps: list[Step], kind: str, test: Callable[[str, int], bool] | None = None) -> Step:
    """A step that passes to the one after it."""
    if len(steps) >= MOST_STEPS:
        raise ValueError(
            f"is too large: it needs more than {MOST_STEPS} steps once its counted repeats are written out"
        )
    steps.append(Step(kind, test, [len(steps) + 1]))
    return steps[-1]


def _write(steps: list[Step], parts: Any, flags: int) -> None:
    for operation, value in parts:
        name = str(operation)
        if name in UNSUPPORTED:
            raise ValueError(f"has {UNSUPPORTED[name]}, which can only be matched by backtracking and so could hang")
        if name == "AT":
            _add(steps, "at", _assertion(ASSERTIONS[str(value)], flags))
        elif name == "SUBPATTERN":
            number, added, removed, inner = value
            if number == 1:
                _add(steps, "open")
            _write(steps, inner, (flags | added) & ~removed)
            if number == 1:
                _add(steps, "close")
        elif name == "BRANCH":
            _write_branches(steps, value[1], flags)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            _write_repeat(steps, value, flags, lazy=name == "MIN_REPEAT")
        else:
            _add(steps, "take", _taking(_one_character(name, value), flags))


def _write_branches(steps: list[Step], branches: Any, flags: int) -> None:
    fork = _add(steps, "pass")
    fork.then.clear()
    ends = []
    for branch in branches:
        fork.then.append(len(steps))
        _write(steps, branch, flags)
        ends.append(_add(steps, "pass"))
    for end in ends:
        end.then[:] = [len(steps)]


def _write_repeat(steps: list[Step], value: Any, flags: int, *, lazy: bool) -> None:
    least, most, inner = int(value[0]), value[1], value[2]
    for _ in range(least):
        _write(steps, inner, flags)
    endless = most is _parser.MAXREPEAT
    forks = []
    for _ in range(1 if endless else int(most) - least):
        forks.append(_add(steps, "pass"))
        start = len(steps)
        _write(steps, inner, flags)
        if endless:
            _add(steps, "pass").then[:] = [start - 1]
    for fork in forks:
        fork.then.append(len(steps))
        if lazy:
            fork.then.reverse()


def _assertion(source: str, flags: int) -> Callable[[str, int], bool]:
    matches = re.compile(source, flags).match
    return lambda text, place: matches(text, place) is not None


def _taking(source: str, flags: int) -> Callable[[str, int], bool]:
    """Whether one character fits, asked of `re` itself once for each different character."""
    fits = functools.lru_cache(maxsize=4096)(re.compile(source, flags).fullmatch)
    return lambda text, place: fits(text[place]) is not None


def _one_character(name: str, value: Any) -> str:
    """The parsed part written as a pattern again; its numbers are code points."""
    if name == "ANY":
        return "."
    if name in ("LITERAL", "NOT_LITERAL"):
        return f"[{'^' if name == 'NOT_LITERAL' else ''}\\U{value:08x}]"
    written = ""
    for operation, inner in value:
        if str(operation) == "NEGATE":
            written += "^"
        elif str(operation) == "RANGE":
            written += f"\\U{inner[0]:08x}-\\U{inner[1]:08x}"
        elif str(operation) == "CATEGORY":
            written += CATEGORIES[str(inner)]
        else:
            written += f"\\U{inner:08x}"
    return f"[{written}]"


def chance(_: GoldenItem) -> float | None:
    """Unknown: a pattern may ask for one sentence or for any digit."""
    return None


def check(item: GoldenItem) -> None:
    unknown = sorted(set(item.arguments) - set(ARGUMENTS))
    if unknown:
        raise ValueError(f"field 'arguments' has {unknown[0]!r}; expected only {', '.join(ARGUMENTS)}")
    mode, flags = item.arguments.get("mode", "search"), item.arguments.get("flags", "")
    if mode not in MODES:
        raise ValueError(f"field 'arguments.mode' is {mode!r}; expected one of {', '.join(MODES)}")
    if not isinstance(flags, str) or set(flags) - set(FLAGS):
        raise ValueError(f"field 'arguments.flags' is {flags!r}; expected letters of {', '.join(FLAGS)}")
    try:
        program = _program(item.answer, flags)
    except ValueError as error:
        raise ValueError(f"field 'answer' {error}; expected a regular expression in Python's notation") from error
    if _run(program, "", whole=mode == "fullmatch") is not None:
        raise ValueError(f"field 'answer' is {item.answer!r}, which fits the empty text; expected one that does not")
    if (mode == "first_group_equals") != ("value" in item.arguments):
        raise ValueError("field 'arguments.value' goes with the mode 'first_group_equals'; expected both or neither")
    if "value" in item.arguments and not str(item.arguments["value"]).strip():
        raise ValueError("field 'arguments.value' is empty; expected the text of the first group")
    if mode == "first_group_equals" and not any(step.kind == "open" for step in program):
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
