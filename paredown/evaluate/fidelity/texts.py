"""Texts on which fidelity is measured: which of the baseline's answers, plain texts, and windows of a long text."""

from __future__ import annotations

import importlib.resources
import random
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.records.golden import GoldenItem

PLAIN_SLICE = "plain"
LONG_SLICE = "long text"


@dataclass(frozen=True)
class PlainText:
    """Text that no model wrote. `tokens`: how many of its first tokens are compared."""

    id: str
    text: str
    tokens: int = 128

    @property
    def part(self) -> str:
        """`english-essay` and `english-story` together are `plain/english`."""
        return f"{PLAIN_SLICE}/{self.id.partition('-')[0]}"


def plain_texts(*, tokens: int = 128) -> tuple[PlainText, ...]:
    """The plain texts that ship with paredown: prose, instructions, code, several languages."""
    folder = importlib.resources.files("paredown.builtin") / "plain"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".txt")), key=lambda file: file.name)
    return tuple(PlainText(file.name.removesuffix(".txt"), file.read_text("utf-8"), tokens) for file in files)


def choose_prompts(items: Sequence[GoldenItem], count: int = 20) -> tuple[GoldenItem, ...]:
    """Up to `count` items, taken in turn from the slices by id, the shortest conversation of each cluster.

    Within a slice the languages take turns (tag `language`), so that none is left out by the alphabet. A text that
    stands by itself is no prompt.
    """
    shortest: dict[str, GoldenItem] = {}
    talks = [item for item in items if item.messages]
    for item in sorted(talks, key=lambda item: (sum(len(m.content) for m in item.messages), item.id)):
        shortest.setdefault(item.unit, item)
    seen: dict[tuple[str, str], int] = {}
    by_slice: dict[str, list[tuple[int, GoldenItem]]] = {}
    for item in sorted(shortest.values(), key=lambda item: item.id):
        kind = (item.slice, item.tags.get("language", ""))
        seen[kind] = seen.get(kind, 0) + 1
        by_slice.setdefault(item.slice, []).append((seen[kind], item))
    turns = sorted(
        ((turn, name, item) for name, members in by_slice.items() for turn, item in enumerate(_in_turn(members))),
        key=lambda entry: entry[:2],
    )
    return tuple(item for _, _, item in turns[:count])


def _in_turn(members: Sequence[tuple[int, GoldenItem]]) -> list[GoldenItem]:
    return [item for _, item in sorted(members, key=lambda member: (member[0], member[1].id))]


def language_part(item: GoldenItem) -> tuple[str, ...]:
    """`multilingual/ru` for an item that is tagged with its language."""
    language = item.tags.get("language", "")
    return (f"{item.slice}/{language}",) if language else ()


# ── a long text ──────────────────────────────────────────────────────────────────────────────────────────────────

LONG_POSITIONS = (256, 1024, 2048, 4096)
FACTS_A_WINDOW = 4
LONGEST_WINDOW = 160
"""Tokens kept free for a window at the end of the context; four facts take about 60."""

_HEAD = "This is the inventory of the house, as it was read aloud before the journey.\n\n{}\n\n"
_AGAIN = "\n\nA part of the inventory is now read again, word for word. {}\n\n"
_FIRST = ("Mira", "Tomas", "Ines", "Pavel", "Greta", "Omar", "Saskia", "Jonas", "Leda", "Hugo", "Nadia", "Felix")
_LAST = ("Voss", "Quill", "Harrow", "Strand", "Bexley", "Thorne", "Wick", "Marsh", "Farrow", "Creel", "Orme", "Tarn")
_KIND = ("brass", "red", "silver", "blue", "green", "copper", "glass", "leather", "ivory", "iron", "wooden", "velvet")
_THING = ("key", "ledger", "compass", "lantern", "violin", "kettle", "mirror", "map", "comb", "bell", "globe", "mask")
_PLACE = (
    "clock room", "north cellar", "boat house", "orchard shed", "music hall", "bakery loft",
    "old library", "stone mill", "glass house", "harbour office", "chapel tower", "ferry hut",
)  # fmt: skip


@dataclass(frozen=True)
class LongText:
    """A long text in pieces, so that each window starts at its position whatever the tokenizer.

    head:    what must be remembered; `windows` say parts of it again, each its own, so that a window can be foretold
             only by looking back over everything between
    filler:  ordinary text to be put between, from the first piece again when it is used up
    """

    head: str
    windows: tuple[str, ...]
    filler: tuple[str, ...]


def long_text(windows: int, plain: Sequence[PlainText], seed: int = 0) -> LongText:
    """Facts at the beginning, each window repeats four of them; between stand the plain texts, rotated by the seed."""
    chance = random.Random(seed)  # noqa: S311  which facts, no secret
    facts = _facts(windows * FACTS_A_WINDOW, chance)
    turn = chance.randrange(len(plain)) if plain else 0
    return LongText(
        _HEAD.format(" ".join(facts)),
        tuple(_AGAIN.format(" ".join(facts[place::windows])) for place in range(windows)),
        tuple(f"\n\n{text.text}" for text in (*plain[turn:], *plain[:turn])),
    )


def _facts(count: int, chance: random.Random) -> list[str]:
    """Sentences of which no two name the same person, or the same thing."""
    people = [f"{first} {last}" for first in _FIRST for last in _LAST]
    things = [f"{kind} {thing}" for kind in _KIND for thing in _THING]
    return [
        f"{person} keeps the {thing} in the {chance.choice(_PLACE)}."
        for person, thing in zip(chance.sample(people, count), chance.sample(things, count), strict=True)
    ]


def window_positions(context_length: int, furthest: int) -> tuple[int, ...]:
    """Where windows start: doubling from 1,024 up to `furthest`, as far as the context goes (0 = 1,024 at most)."""
    room = (context_length or 2 * LONGEST_WINDOW + 1024) - LONGEST_WINDOW
    positions = list(LONG_POSITIONS)
    while 2 * positions[-1] <= furthest:
        positions.append(2 * positions[-1])
    return tuple(position for position in positions if position <= min(furthest, room))


@dataclass(frozen=True)
class Window:
    """Token ids from the beginning of the long text to the end of a window, which starts at `start`."""

    token_ids: tuple[int, ...]
    start: int
    text: str


def place_windows(
    head: Sequence[int],
    windows: Sequence[Sequence[int]],
    filler: Sequence[Sequence[int]],
    positions: Sequence[int],
    texts: Sequence[str],
) -> tuple[Window, ...]:
    """The windows at their positions (later where the head is longer), each in the same sequence as those before."""
    ids = list(head)
    supply = [token for piece in filler for token in piece]
    used, made = 0, []
    for window, position, text in zip(windows, positions, texts, strict=True):
        while supply and len(ids) < position:
            piece = supply[used : used + position - len(ids)]
            ids += piece
            used = (used + len(piece)) % len(supply)
        made.append(Window((*ids, *window), len(ids), text))
        ids += window
    return tuple(made)
