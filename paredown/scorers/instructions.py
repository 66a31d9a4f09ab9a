"""Instructions whose keeping can be verified: length, format, keywords, script.

`answer` is left out. `arguments.checks`: a list (JSON) of checks such as `{"kind": "words", "most": 50}`; kinds and
fields:

- `words`, `sentences`, `lines`, `paragraphs`, `bullets`: `least`, `most` (one or both). Han and kana characters count
  as words, as in word processors; in Thai, Lao, Khmer and Burmese words cannot be counted (not scored). A sentence
  ends at its mark and white space, so abbreviations count too; lines are those with text, paragraphs stand apart by an
  empty line, bullets are lines that begin with a mark or a number.
- `keyword`: `text`, `least` (default 1), `most`; `forbidden`: `texts` (whole words; case does not count)
- `starts_with`, `ends_with`: `text` (case, width and outer white space do not count)
- `case`: `is`: `lower` or `upper`, for the whole text
- `json`: nothing but one JSON object or list, no fence around it
- `language`: `is`: a script (SCRIPTS), of which four in five letters must be (names and terms may be in another)

`arguments.mode`: `all` (1 when every check is kept, else 0; the default) or `fraction` (share of checks kept).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paredown.contracts import Scorer, ScoringLevel
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.scorers import _text

MODES = ("all", "fraction")
CASES = ("lower", "upper")
LEAST_SHARE_OF_SCRIPT = 0.8
WORDLESS_SCRIPTS = ("THAI", "LAO", "KHMER", "MYANMAR")
BULLET = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s+\S")
SENTENCE_END = re.compile(r"(?<![.!?…؟।])[.!?…؟।]++[\"'”’»)\]*_]*+(?:\s+|$)|[。！？]+[」』”’）]*|\n\s*\n")
SCRIPTS: Mapping[str, tuple[str, ...]] = {
    **{name: (name.upper(),) for name in ("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Armenian", "Georgian")},
    **{name: (name.upper(),) for name in ("Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Tamil", "Telugu")},
    **{name: (name.upper(),) for name in ("Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar")},
    **{name: (name.upper(),) for name in ("Ethiopic", "Hangul")},
    "Han": ("CJK",),
    "Kana": ("HIRAGANA", "KATAKANA", "CJK"),
}


@dataclass(frozen=True)
class Kind:
    """A kind of check.

    fields: what it may have beside `kind`; `required`: what it must have
    fault:  what is wrong with a text, or nothing; raises _UncountableError when that cannot be told
    """

    fields: tuple[str, ...]
    required: tuple[str, ...]
    fault: Callable[[str, Mapping[str, Any]], str]


class _UncountableError(Exception):
    """The text is in a script whose words cannot be counted."""


def score(item: GoldenItem, answer: Answer) -> Score:
    if answer.failure:
        return Score(item.id, None, answer.failure)
    if not answer.text.strip():
        return Score(item.id, 0.0, "the answer is empty")
    checks = _checks(item)
    try:
        faults = [KINDS[check["kind"]].fault(answer.text, check) for check in checks]
    except _UncountableError as error:
        return Score(item.id, None, str(error))
    broken = [fault for fault in faults if fault]
    kept = len(checks) - len(broken)
    value = kept / len(checks) if item.arguments.get("mode") == "fraction" else float(not broken)
    return Score(item.id, value, f"kept {kept} of {len(checks)}: {'; '.join(broken)}" if broken else "")


def _amount(count: Callable[[str], int]) -> Callable[[str, Mapping[str, Any]], str]:
    def fault(text: str, check: Mapping[str, Any]) -> str:
        return _outside(count(text), check, str(check["kind"]))

    return fault


def _outside(count: int, check: Mapping[str, Any], noun: str) -> str:
    if count < check.get("least", count):
        return f"{noun}: {count}, at least {check['least']}"
    return f"{noun}: {count}, at most {check['most']}" if count > check.get("most", count) else ""


def _words(text: str) -> int:
    """Words between white space; each Han or kana character is one of its own."""
    count = 0
    for run in text.split():
        within = False
        for character in run:
            name = unicodedata.name(character, "")
            if name.startswith(WORDLESS_SCRIPTS) and _text.is_word(character):
                raise _UncountableError(f"words cannot be counted in the script of {character!r}")
            if name.startswith(SCRIPTS["Kana"]) and _text.is_word(character):
                count, within = count + 1, False
            elif _text.is_word(character) and not within:
                count, within = count + 1, True
    return count


def _sentences(text: str) -> int:
    return sum(any(map(_text.is_word, part)) for part in SENTENCE_END.split(text))


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _paragraphs(text: str) -> int:
    return sum(bool(part.strip()) for part in re.split(r"\n\s*\n", text))


def _bullets(text: str) -> int:
    return sum(BULLET.match(line) is not None for line in text.splitlines())


def _keyword(text: str, check: Mapping[str, Any]) -> str:
    count = _text.count_words(_text.folded(text), _text.folded(check["text"]))
    return _outside(count, {"least": 1, **check} if "most" not in check else check, f"{check['text']!r}")


def _forbidden(text: str, check: Mapping[str, Any]) -> str:
    folded = _text.folded(text)
    found = [repr(word) for word in check["texts"] if _text.count_words(folded, _text.folded(word))]
    return f"forbidden: {', '.join(found)}" if found else ""


def _starts_with(text: str, check: Mapping[str, Any]) -> str:
    kept = _text.folded(text).startswith(_text.folded(check["text"]))
    return "" if kept else f"does not start with {check['text']!r}"


def _ends_with(text: str, check: Mapping[str, Any]) -> str:
    kept = _text.folded(text).endswith(_text.folded(check["text"]))
    return "" if kept else f"does not end with {check['text']!r}"


def _case(text: str, check: Mapping[str, Any]) -> str:
    kept = text.islower() if check["is"] == "lower" else text.isupper()
    return "" if kept else f"not all in {check['is']} case"


def _json(text: str, _: Mapping[str, Any]) -> str:
    try:
        kept = isinstance(json.loads(text, parse_constant=_refuse), dict | list)
    except (ValueError, RecursionError):
        kept = False
    return "" if kept else "not JSON alone"


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _language(text: str, check: Mapping[str, Any]) -> str:
    letters = [letter for letter in unicodedata.normalize("NFKC", text) if letter.isalpha()]
    names = [unicodedata.name(letter, "") for letter in letters]
    kept = bool(names) and sum(name.startswith(SCRIPTS[check["is"]]) for name in names) >= LEAST_SHARE_OF_SCRIPT * len(
        names
    )
    if check["is"] == "Kana":  # Japanese has Han characters too, but not they alone
        kept = kept and any(name.startswith(SCRIPTS["Kana"][:2]) for name in names)
    return "" if kept else f"not in the script {check['is']}"


KINDS: Mapping[str, Kind] = {
    "words": Kind(("least", "most"), (), _amount(_words)),
    "sentences": Kind(("least", "most"), (), _amount(_sentences)),
    "lines": Kind(("least", "most"), (), _amount(_lines)),
    "paragraphs": Kind(("least", "most"), (), _amount(_paragraphs)),
    "bullets": Kind(("least", "most"), (), _amount(_bullets)),
    "keyword": Kind(("text", "least", "most"), ("text",), _keyword),
    "forbidden": Kind(("texts",), ("texts",), _forbidden),
    "starts_with": Kind(("text",), ("text",), _starts_with),
    "ends_with": Kind(("text",), ("text",), _ends_with),
    "case": Kind(("is",), ("is",), _case),
    "json": Kind((), (), _json),
    "language": Kind(("is",), ("is",), _language),
}


def chance(_: GoldenItem) -> float | None:
    """Unknown: any text has fewer than 500 words, hardly one ends with a given sentence."""
    return None


def check(item: GoldenItem) -> None:
    _text.refuse_other_arguments(item, ("checks", "mode"))
    if item.answer:
        raise ValueError(f"field 'answer' is {item.answer!r}; expected \"\", as the checks stand in 'arguments.checks'")
    mode = item.arguments.get("mode", "all")
    if mode not in MODES:
        raise ValueError(f"field 'arguments.mode' is {mode!r}; expected one of {', '.join(MODES)}")
    for index, part in enumerate(_checks(item)):
        _examine(part, f"arguments.checks[{index}]")


def _checks(item: GoldenItem) -> list[dict[str, Any]]:
    written = item.arguments.get("checks", "")
    try:
        checks = json.loads(str(written))
    except ValueError:
        checks = None
    if not isinstance(checks, list) or not checks or not all(isinstance(part, dict) for part in checks):
        example = '[{"kind": "words", "most": 50}]'
        raise ValueError(f"field 'arguments.checks' is {written!r}; expected a list of checks such as {example}")
    return checks


def _examine(part: Mapping[str, Any], where: str) -> None:
    kind = KINDS.get(str(part.get("kind")))
    if kind is None:
        raise ValueError(f"field '{where}.kind' is {part.get('kind')!r}; expected one of {', '.join(KINDS)}")
    unknown = sorted(set(part) - {"kind", *kind.fields})
    if unknown:
        raise ValueError(f"field '{where}' has {unknown[0]!r}; expected only {', '.join(('kind', *kind.fields))}")
    missing = [name for name in kind.required if name not in part]
    if "least" in kind.fields and not kind.required and not {"least", "most"} & set(part):
        missing = ["least' or 'most"]
    if missing:
        raise ValueError(f"field '{where}' lacks '{missing[0]}'; expected it beside the kind {part['kind']!r}")
    _examine_amounts(part, where)
    for name in ("text", "texts"):
        texts = part.get(name, ["x"]) if name == "texts" else [part.get(name, "x")]
        if not isinstance(texts, list) or not texts or not all(isinstance(x, str) and _text.folded(x) for x in texts):
            expected = "a list of texts" if name == "texts" else "a text"
            raise ValueError(f"field '{where}.{name}' is {part[name]!r}; expected {expected}")
    if part["kind"] == "case" and part["is"] not in CASES:
        raise ValueError(f"field '{where}.is' is {part['is']!r}; expected one of {', '.join(CASES)}")
    if part["kind"] == "language" and part["is"] not in SCRIPTS:
        raise ValueError(
            f"field '{where}.is' is {part['is']!r}; languages that share a script cannot be told apart: "
            f"expected a script, one of {', '.join(SCRIPTS)}"
        )


def _examine_amounts(part: Mapping[str, Any], where: str) -> None:
    for name in ("least", "most"):
        value = part.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"field '{where}.{name}' is {value!r}; expected a whole number of 0 or more")
    if part.get("least", 0) > part.get("most", part.get("least", 0)):
        raise ValueError(f"field '{where}.least' is {part['least']}; expected at most 'most', which is {part['most']}")


SCORER = Scorer(
    name="instructions",
    summary="verifiable instructions are kept: length, format, keywords, script",
    version=1,
    likelihood=False,
    needs=ScoringLevel.NONE,
    score=score,
    chance=chance,
    check=check,
    needs_answer=False,
)
