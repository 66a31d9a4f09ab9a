"""Strata of logged requests, and a sample in which each of them has its share.

A stratum is what a slice of the golden set will be: `en.short`, `ja.long.tools` …
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from paredown.curate.log_lines import Exchange
from paredown.errors import UnknownNameError

DIMENSIONS = ("language", "length", "tools", "json", "code", "system")
DEFAULT = ("language", "length", "tools", "json", "code")
LENGTHS = ((256, "short"), (1_024, "medium"), (4_096, "long"))
LONGEST = "very_long"
OTHER = "other"
LEAST = 10
"""Items that each stratum gets, where it has them, before the rest is shared out."""

# Languages that have a script (nearly) to themselves, by the first word of the Unicode name of its letters.
_SCRIPTS = {
    "HANGUL": "ko",
    "THAI": "th",
    "GREEK": "el",
    "HEBREW": "he",
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
}
# Short words that are frequent in a language; one that several share counts for each of them.
_WORDS = {
    "en": "the and of to is that for with what you are this how from was not have which will can a in on it if his her",
    "de": "der die das und ist nicht ein eine ich zu mit wie für auf den dem sich auch wird sind sie er von im hat",
    "fr": "le les et est une des du pour que dans qui pas vous sur avec au il sont je de la un à en l d qu n elle par",
    "es": "el los y es una las del por con para que cuál cómo como más su se lo está son de la en un al si tiene a",
    "it": "di e è che una per con della sono gli nel non come più questo alla le si il la un ha ogni in l da i quanti",
    "pt": "o os e é uma das do da por com para que não como mais em um se são de a as ele ela ao cada tem quantos",
    "nl": "het een van dat ik te met voor zijn wat hoe aan er naar ook de en is niet op in deze wordt heeft hij zij",
}
_FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_LEAST_SHARE, _LEAST_LEAD = 0.1, 1.4
_CODE_LINE = re.compile(
    r"^\s*(?:def |class |import |from \w+ import|#include|public |const |let |SELECT )|[{};]\s*$", re.M
)


@dataclass(frozen=True)
class Stratum:
    """How many requests a stratum has in the log, without duplicates, and how many of them are taken."""

    name: str
    found: int
    taken: int


def check(by: Sequence[str]) -> None:
    """Raises UnknownNameError for what requests cannot be told apart by."""
    for name in by:
        if name not in DIMENSIONS:
            raise UnknownNameError("part of --by", name, DIMENSIONS)


def name(exchange: Exchange, tokens: int, by: Sequence[str]) -> str:
    """The stratum of a request: language and length always by name, the others where they are so."""
    text = asked_text(exchange)
    parts: dict[str, Callable[[], str]] = {
        "language": lambda: language(text),
        "length": lambda: next((label for most, label in LENGTHS if tokens <= most), LONGEST),
        "tools": lambda: "tools" if exchange.has_tools else "",
        "json": lambda: "json" if exchange.wants_json or re.search(r"\bJSON\b", text, re.IGNORECASE) else "",
        "code": lambda: "code" if "```" in text or len(_CODE_LINE.findall(text)) >= 2 else "",
        "system": lambda: "system" if exchange.messages[0].role == "system" else "",
    }
    return ".".join(filter(None, (parts[one]() for one in by))) or OTHER


def asked_text(exchange: Exchange) -> str:
    """What the user wrote, without the system message, which many requests share."""
    return "\n".join(message.content for message in exchange.messages if message.role != "system")


def language(text: str) -> str:
    """The language (ISO 639) where script or frequent words tell it, else the script (`latin`, `cyrillic`), or `none`.

    A script alone: ko, th, el, he, zh, and ja where one letter in ten is kana. Latin script: en, de, fr, es, it, pt or
    nl when one word in ten is a frequent one of it, and 1.4 times as many as of any other; else `latin`.
    """
    scripts: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if letter.isalpha():
            scripts[unicodedata.name(letter, "OTHER").partition(" ")[0]] += count
    total = scripts.total()
    if not total:
        return "none"
    kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
    if kana >= total / 10 and kana + scripts["CJK"] > total / 2:
        return "ja"
    script = scripts.most_common(1)[0][0]
    if script == "LATIN":
        return _by_words(text) or "latin"
    return _SCRIPTS.get(script, re.sub(r"\W", "", script.lower()))


def _by_words(text: str) -> str:
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = Counter({one: sum(word in known for word in words) for one, known in _FUNCTION_WORDS.items()})
    (first, most), (_, second) = counts.most_common(2)
    return first if most >= _LEAST_SHARE * len(words) and most >= _LEAST_LEAD * second and most > 0 else ""


def allocate(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """How many of each stratum: at least LEAST (or all that it has), the rest in proportion (Webster's method).

    The floor is lower where `count` is too small for it; with more strata than `count`, the largest get one.
    """
    floor = min(LEAST, count // max(1, len(sizes)))
    given = {stratum: min(size, floor) for stratum, size in sizes.items()}
    while sum(given.values()) < min(count, sum(sizes.values())):
        room = [stratum for stratum in sizes if given[stratum] < sizes[stratum]]
        following = max(room, key=lambda one: (sizes[one] / (given[one] + 0.5), one))
        given[following] += 1
    return given


def draw(members: Sequence[Exchange], count: int, seed: int) -> tuple[Exchange, ...]:
    """`count` of them, first one of each conversation or user, then second ones …; seed and content alone decide."""
    ordered = sorted(members, key=lambda one: rank(one, seed))
    turns: Counter[str] = Counter()
    by_turn = []
    for place, one in enumerate(ordered):
        own = one.group or f"place {place}"
        by_turn.append((turns[own], place))
        turns[own] += 1
    return tuple(ordered[place] for _, place in sorted(by_turn)[:count])


def rank(one: Exchange, seed: int) -> str:
    """A place in the draw that seed and content alone decide."""
    content = "\0".join(f"{message.role}\0{message.content}" for message in one.messages)
    return hashlib.sha256(f"{seed}\0{content}".encode()).hexdigest()
