"""Words of known token length, found by asking the tokenizer: what prompts of an exact length are put together from.

Nothing is assumed about the tokenizer. Where a word after a space is one token (BPE), words of one token are taken;
elsewhere (bytes, characters) each word's own length is measured.
"""

from __future__ import annotations

import functools
import itertools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from paredown.errors import UserError
from paredown.traffic.tokens import Tokens

# Words asked about in one call: a call may be a round trip to a server.
GROUP = 8
# Enough that random text does not repeat itself, few enough for a server to be asked about.
MOST_PIECES = 512
FEWEST_OF_ONE_TOKEN = 64
# After so many words none of which is one token, the others are not asked about.
TRIED = 128
_PROBES = ("river", "Maple", "7 boats", "zip!")


@dataclass(frozen=True)
class Vocabulary:
    """What a prompt consists of, each with its length in tokens.

    head, tail:     tokens of the chat template before and after the content
    openings:       contents that begin with different tokens, each `opening_tokens` long
    pieces:         what may follow, `piece_tokens` long each (a space and a word)
    glue:           texts that add one token to a word that they are stuck to; empty where pieces are of one token
    """

    head: int
    tail: int
    openings: tuple[str, ...]
    opening_tokens: int
    pieces: tuple[str, ...]
    piece_tokens: tuple[int, ...]
    glue: tuple[str, ...] = ()

    @property
    def shortest(self) -> int:
        """Tokens of the shortest prompt: the template and one opening."""
        return self.head + self.tail + self.opening_tokens

    @functools.cached_property
    def all_of_one_token(self) -> bool:
        return set(self.piece_tokens) == {1}

    @functools.cached_property
    def length_of(self) -> Mapping[str, int]:
        return dict(zip(self.pieces, self.piece_tokens, strict=True))

    @functools.cached_property
    def pieces_of_length(self) -> Mapping[int, tuple[str, ...]]:
        lengths = sorted(set(self.piece_tokens))
        return {length: tuple(piece for piece in self.pieces if self.length_of[piece] == length) for length in lengths}


def words() -> tuple[str, ...]:
    """Common English words, in an order that mixes the alphabet."""
    return tuple((resources.files("paredown.builtin") / "traffic" / "words.txt").read_text().split())


def encode(tokens: Tokens, text: str) -> tuple[int, ...]:
    """Token ids of a conversation of one user message."""
    return tokens.encode_conversation([{"role": "user", "content": text}])


@functools.lru_cache(maxsize=8)
def measure(tokens: Tokens, openings: int) -> Vocabulary:
    """Ask the tokenizer what words cost. `openings`: how many different beginnings are wanted (fewer may be found).

    Kept for each tokenizer, because asking a server takes hundreds of round trips.
    Raises UserError when the template does not show the content.
    """
    probes = [encode(tokens, text) for text in _PROBES]
    head = min(itertools.starmap(_common, itertools.combinations(probes, 2)))
    backwards = [probe[head:][::-1] for probe in probes]
    tail = min(itertools.starmap(_common, itertools.combinations(backwards, 2)))
    if min(len(probe) for probe in probes) <= head + tail:
        raise UserError("The chat template leaves out what the user says, so no prompt of a given length can be made.")
    found, opening_tokens = _openings(tokens, head, tail, openings)
    pieces = _pieces_of_one_token(tokens, found[0], tail)
    if len(pieces) >= FEWEST_OF_ONE_TOKEN:
        return Vocabulary(head, tail, found, opening_tokens, pieces, (1,) * len(pieces))
    lengths = _measured_pieces(tokens, found[0])
    pieces = tuple(piece for piece, length in lengths.items() if length == 1)
    if len(pieces) >= FEWEST_OF_ONE_TOKEN:
        return Vocabulary(head, tail, found, opening_tokens, pieces, (1,) * len(pieces))
    return Vocabulary(
        head, tail, found, opening_tokens, tuple(lengths), tuple(lengths.values()), _glue(tokens, found[0])
    )


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _openings(tokens: Tokens, head: int, tail: int, wanted: int) -> tuple[tuple[str, ...], int]:
    """Texts with different first tokens, all of the smallest length that there is, and that length."""
    by_length: dict[int, dict[int, str]] = {}
    spoken = (*words(), *(word.capitalize() for word in words()))
    for number, text in enumerate((*spoken, *string.ascii_letters, *string.digits)):
        if TRIED <= number < len(spoken) and 1 not in by_length:
            continue  # to this tokenizer words are longer than one token, letters perhaps are not
        ids = encode(tokens, text)
        length = len(ids) - head - tail
        if length > 0:
            by_length.setdefault(length, {}).setdefault(ids[head], text)
        if len(by_length.get(1, ())) >= wanted:
            break
    shortest = min(by_length)
    return tuple(by_length[shortest].values()), shortest


def _pieces_of_one_token(tokens: Tokens, anchor: str, tail: int) -> tuple[str, ...]:
    """Words that add one token each, a different one each. Whole groups are asked about, and dropped as a whole."""
    alone = len(encode(tokens, anchor))
    found: dict[int, str] = {}
    candidates = words()
    for at in range(0, len(candidates), GROUP):
        group = [f" {word}" for word in candidates[at : at + GROUP]]
        ids = encode(tokens, anchor + "".join(group))
        if len(ids) == alone + len(group):
            added = ids[len(ids) - tail - len(group) : len(ids) - tail]
            for token, piece in zip(added, group, strict=True):
                found.setdefault(token, piece)
        if len(found) >= MOST_PIECES or (at >= TRIED and not found):
            break
    return tuple(found.values())


def _measured_pieces(tokens: Tokens, anchor: str) -> dict[str, int]:
    """Words with what each adds, letters too: a text of many lengths can end anywhere."""
    alone = len(encode(tokens, anchor))
    lengths = {
        f" {word}": len(encode(tokens, f"{anchor} {word}")) - alone
        for word in (*words()[: MOST_PIECES // 2], *string.ascii_lowercase)
    }
    return {piece: added for piece, added in lengths.items() if added > 0}


def _glue(tokens: Tokens, anchor: str) -> tuple[str, ...]:
    alone = len(encode(tokens, anchor))
    candidates = (*"aeinorst", ".", ",", "!", "7")
    return tuple(text for text in candidates if len(encode(tokens, anchor + text)) == alone + 1)
