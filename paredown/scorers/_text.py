"""Texts made comparable, and whole words found in them, whatever the script. Shared by scorers, and none itself."""

from __future__ import annotations

import json
import unicodedata

from paredown.records.golden import GoldenItem

UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


def folded(text: str) -> str:
    """Unicode NFKC, case folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def count_words(text: str, wanted: str) -> int:
    """How often `wanted` stands in `text` as whole words, where its script has spaces. Both are folded already."""
    count, place = 0, text.find(wanted)
    while place >= 0:
        end = place + len(wanted)
        is_whole = not _continues(wanted[0], text[max(0, place - 1) : place]) and not _continues(
            wanted[-1], text[end : end + 1]
        )
        count += is_whole
        place = text.find(wanted, end if is_whole else place + 1)
    return count


def _continues(edge: str, neighbour: str) -> bool:
    return is_word(edge) and is_word(neighbour) and not (is_unspaced(edge) or is_unspaced(neighbour))


def is_word(character: str) -> bool:
    """Letters, digits and the marks that belong to letters (vowel signs of Indic scripts)."""
    return character != "" and unicodedata.category(character)[0] in "LNM"


def is_unspaced(character: str) -> bool:
    """Whether the script of the character puts no spaces between words, or hangs endings on them (Korean)."""
    return unicodedata.name(character, "").startswith(UNSPACED_SCRIPTS)


def refuse_other_arguments(item: GoldenItem, known: tuple[str, ...]) -> None:
    """Raises ValueError for a misspelt argument, which would else go unchecked."""
    unknown = sorted(set(item.arguments) - set(known))
    if unknown:
        raise ValueError(f"field 'arguments' has {unknown[0]!r}; expected only {', '.join(known)}")


def texts(item: GoldenItem, name: str) -> list[str]:
    """The JSON list of texts in an argument, empty when it is not given. Raises ValueError for anything else."""
    if name not in item.arguments:
        return []
    written = item.arguments[name]
    try:
        found = json.loads(str(written))
    except ValueError:
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(text, str) and folded(text) for text in found):
        raise ValueError(f"field 'arguments.{name}' is {written!r}; expected a list of texts such as [\"Paris\"]")
    return found
