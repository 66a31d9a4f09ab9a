"""Prompts of exactly the token lengths asked for, the same for the same seed.

Every prompt is encoded with the model's own tokenizer and chat template and mended until its length is right, so that
the server counts what was asked for. Prompts begin with different tokens, as far as the vocabulary goes (then they
differ from the second word on); prompts that share leading block ids share exactly those blocks (and the space behind
them, where that is a token of its own).
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from paredown.errors import UserError
from paredown.records.traffic import Message, TrafficRequest
from paredown.traffic.tokens import Tokens
from paredown.traffic.vocabulary import Vocabulary, encode, measure

# How many beginnings are looked for: fewer for the few prompts of a curve, whose server may have to be asked.
FEW_OPENINGS, MOST_OPENINGS = 64, 1024
MENDS = 24


@dataclass(frozen=True)
class _Block:
    """number: of all blocks, in order of their first use; place: among those with the same predecessors."""

    number: int
    place: int


@dataclass
class _Tree:
    """Blocks of all prompts by what precedes them, so that equal ids after equal ids are one block."""

    blocks: dict[tuple[int, Hashable], _Block] = field(default_factory=dict)
    children: dict[int, int] = field(default_factory=dict)
    beginnings: dict[int, int] = field(default_factory=dict)

    def block(self, parent: int, key: Hashable) -> _Block:
        if (parent, key) not in self.blocks:
            place = self.children.get(parent, 0)
            self.children[parent] = place + 1
            self.blocks[parent, key] = _Block(len(self.blocks) + 1, place)
        return self.blocks[parent, key]


@dataclass(frozen=True)
class _Made:
    """A prompt's text and its ids. `ends`: number of each whole block in it → where that ends in the ids."""

    text: str
    ids: tuple[int, ...]
    ends: dict[int, int]


def shortest(tokens: Tokens) -> int:
    """Tokens of the shortest prompt that can be made: the chat template and one word."""
    return measure(tokens, FEW_OPENINGS).shortest


def make(
    tokens: Tokens,
    lengths: Sequence[int],
    *,
    output_tokens: Sequence[int] | int,
    seed: int,
    shared: Sequence[Sequence[int]] = (),
    block_tokens: int = 512,
    name: str = "synthetic",
) -> tuple[TrafficRequest, ...]:
    """One request for each length (tokens of the prompt, chat template included).

    output_tokens: for each request, or for all
    shared:        for each request the ids of its leading blocks of `block_tokens` tokens, the template's own
                   included; what lies behind the last one is the request's own
    Raises UserError for a length below `shortest`, and when the tokenizer cannot be made to give a length.
    """
    vocabulary = measure(tokens, FEW_OPENINGS if len(lengths) <= FEW_OPENINGS else MOST_OPENINGS)
    outputs = [output_tokens] * len(lengths) if isinstance(output_tokens, int) else output_tokens
    tree = _Tree()
    requests = []
    for index, (length, wanted) in enumerate(zip(lengths, outputs, strict=True)):
        if length < vocabulary.shortest:
            raise UserError(
                f"A prompt of {length:,} tokens was asked for, but the chat template and one word take "
                f"{vocabulary.shortest}. Ask for at least {vocabulary.shortest}."
            )
        ids = shared[index] if shared else ()
        made = _made(tokens, vocabulary, tree, length, ids, block_tokens, index, seed)
        _check_shared(tree, made)
        requests.append(TrafficRequest(f"{name}-{index}", (Message("user", made.text),), wanted, prompt_tokens=length))
    return tuple(requests)


def _made(
    tokens: Tokens,
    vocabulary: Vocabulary,
    tree: _Tree,
    length: int,
    shared: Sequence[int],
    block_tokens: int,
    index: int,
    seed: int,
) -> _Made:
    content = length - vocabulary.head - vocabulary.tail
    texts: list[str] = []
    ends: dict[int, int] = {}
    parent, at = 0, 0
    key: tuple[Hashable, ...] = ()
    for number, identifier in enumerate(shared, start=1):
        end = min(number * block_tokens - vocabulary.head, content)
        key = (*key, identifier)
        if end <= at:  # the template fills the block, or the prompt has ended
            continue
        block = tree.block(parent, key)
        texts.append(_text(vocabulary, block, end - at, seed, opens=at == 0))
        if number * block_tokens <= vocabulary.head + content:
            ends[block.number] = number * block_tokens
        parent, at, key = block.number, end, ()
    if at < content:
        block = tree.block(parent, (*key, "own", index))
        texts.append(_text(vocabulary, block, content - at, seed, opens=at == 0))
    return _mended(tokens, vocabulary, "".join(texts), length, ends, random.Random(f"{seed} mend {index}"))  # noqa: S311  text, no secret


def _text(vocabulary: Vocabulary, block: _Block, room: int, seed: int, *, opens: bool) -> str:
    """Text of a block, `room` tokens long as far as its pieces allow. Siblings begin differently, by their place."""
    chance = random.Random(f"{seed} block {block.number}")  # noqa: S311  text, no secret
    place, used, parts = block.place, 0, []
    if opens:
        place, which = divmod(place, len(vocabulary.openings))
        parts.append(vocabulary.openings[which])
        used = vocabulary.opening_tokens
    while place > 0 or not parts:
        place, which = divmod(place, len(vocabulary.pieces))
        if used + vocabulary.piece_tokens[which] > room:
            break
        parts.append(vocabulary.pieces[which])
        used += vocabulary.piece_tokens[which]
    return "".join((*parts, *_filling(vocabulary, room - used, chance)))


def _filling(vocabulary: Vocabulary, room: int, chance: random.Random) -> list[str]:
    """Pieces chosen at random that are `room` tokens long together, or a little less where none fits."""
    if vocabulary.all_of_one_token:
        return chance.choices(vocabulary.pieces, k=max(room, 0))
    parts: list[str] = []
    of_length = vocabulary.pieces_of_length
    while room > 0:
        fitting = vocabulary.pieces
        if room <= max(of_length) + min(of_length):
            # Near the end: what leaves nothing, else what leaves room for another.
            ends = [length for length in of_length if length == room or length <= room - min(of_length)]
            fitting = of_length[room if room in ends else chance.choice(ends)] if ends else ()
        if not fitting:
            return [*parts, *(chance.choices(vocabulary.glue, k=room) if vocabulary.glue else ())]
        parts.append(chance.choice(fitting))
        room -= vocabulary.length_of[parts[-1]]
    return parts


def _mended(
    tokens: Tokens, vocabulary: Vocabulary, text: str, length: int, ends: dict[int, int], chance: random.Random
) -> _Made:
    """The text with words added or taken away at its end until it has that length."""
    ids = encode(tokens, text)
    for _ in range(MENDS):
        if len(ids) == length:
            return _Made(text, ids, ends)
        if len(ids) > length:
            kept = text.rsplit(" ", min(len(ids) - length, text.count(" ")))
            text = kept[0] if len(kept) > 1 else vocabulary.openings[0]
            ids = encode(tokens, text)
            continue
        longer = text + "".join(_filling(vocabulary, length - len(ids), chance))
        text = longer if longer != text else text + chance.choice("aeinorst.,!7")
        ids = encode(tokens, text)
    raise UserError(
        f"No prompt of exactly {length:,} tokens could be made with this tokenizer (the nearest has {len(ids):,}). "
        "Ask for another length."
    )


def _check_shared(tree: _Tree, made: _Made) -> None:
    """Raises UserError when a block that others have too came out with other tokens."""
    for number, end in made.ends.items():
        beginning = hash(made.ids[:end])
        if tree.beginnings.setdefault(number, beginning) != beginning:
            raise UserError(
                f"This tokenizer joins words across blocks, so prompts cannot share exactly {end:,} tokens. Give a "
                "trace without hash_ids, or another tokenizer."
            )
