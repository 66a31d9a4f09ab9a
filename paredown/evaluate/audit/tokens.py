"""Golden texts that the tokenizer loses or cuts otherwise than they are scored."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.evaluate.audit import wording
from paredown.evaluate.audit.encoding import Encoded
from paredown.hosts.tokenizer import Tokenizer
from paredown.records.audit import Finding
from paredown.records.golden import GoldenItem

SHOWN = 20


def find(encoded: Sequence[Encoded], tokenizer: Tokenizer) -> tuple[Finding, ...]:
    """Items whose text does not come back from its tokens, and choices that merge with the end of the prompt."""
    return (*_lost([one.item for one in encoded], tokenizer), *_merging(encoded, tokenizer))


def _lost(items: Sequence[GoldenItem], tokenizer: Tokenizer) -> list[Finding]:
    lost: dict[str, str] = {}
    for item in items:
        for text in (*(message.content for message in item.messages), *item.choices):
            found = _first_lost(text, tokenizer)
            if found:
                lost.setdefault(item.id, found)
    if not lost:
        return []
    shown = [f"{name}: {text!r}" for name, text in lost.items()]
    sentence = (
        f"{wording.items(len(lost), 'has', 'have')} text that does not come back from the model's tokens "
        f"({wording.some(shown)}): characters that its vocabulary lacks, or marks that it takes for special tokens. "
        "The model never sees what is written there; rewrite these items or leave them out."
    )
    return [Finding("lost text", sentence, items=tuple(lost))]


def _first_lost(text: str, tokenizer: Tokenizer) -> str:
    """From where on a text differs from what its tokens say; spaces do not count. Empty when nothing is lost."""
    back = "".join(tokenizer.decode(tokenizer.encode(text, special_tokens=False)).split())
    letters = "".join(text.split())
    if back == letters:
        return ""
    at = next((n for n, (a, b) in enumerate(zip(letters, back, strict=False)) if a != b), min(len(letters), len(back)))
    return letters[at : at + SHOWN] or letters[-SHOWN:]


def _merging(encoded: Sequence[Encoded], tokenizer: Tokenizer) -> list[Finding]:
    merging: dict[str, str] = {}
    for one in encoded:
        if not one.text:
            continue
        for choice, ids in zip(one.item.choices, one.choices, strict=True):
            if tokenizer.encode(one.text + choice, special_tokens=False) != (*one.ids, *ids):
                merging.setdefault(one.item.id, choice)
    if not merging:
        return []
    shown = [f"{name}: {choice[:SHOWN]!r}" for name, choice in merging.items()]
    sentence = (
        f"{wording.items(len(merging), 'has', 'have')} a choice that is cut into other tokens behind the prompt than "
        f"by itself ({wording.some(shown)}): scored are tokens that the model would not write. Begin the choices with "
        "a letter or digit, without spaces or line ends."
    )
    return [Finding("merging choice", sentence, items=tuple(merging))]
