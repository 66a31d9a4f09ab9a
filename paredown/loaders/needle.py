"""Needles in haystacks: one sentence to be found in generated prose, by length and depth.

`needle` alone, or `needle:lengths=512+1024+2048,depths=0+25+50+75+100,per_cell=4,seed=0`: any of the four keys.

lengths:  of the text, in words and marks, which come near the tokens of a model (SmolLM2: 1.02 tokens each);
          the question and the chat template come on top. An item that is longer than the context is not scored
depths:   percent of the text that stands before the needle
per_cell: items for each length and depth, each with a text of its own
seed:     other texts, the same for the same number everywhere

Each text hides four sentences of one form, `The secret word of the bakery is copper.`: the needle at its depth, the
other three a quarter of the text apart. The answer must hold the word asked for and none of the others (scorer
`needle`); its twin chooses among the four. After "needle in a haystack" (G. Kamradt, 2023) and the multi-key task of
RULER (arXiv 2404.06654). All text is made here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from paredown.contracts import Loader, RawRow
from paredown.errors import UserError
from paredown.loaders import _haystack

NAME = "needle"
DEFAULTS = {"lengths": (512, 1024, 2048), "depths": (0, 25, 50, 75, 100), "per_cell": (4,), "seed": (0,)}
LIMITS = {"lengths": (128, 1_000_000), "depths": (0, 100), "per_cell": (1, 1000), "seed": (0, 2**31)}
SEVERAL = ("lengths", "depths")
MOST_TOKENS = 20_000_000
ANSWER_TOKENS = 24
HIDDEN = 4
OWNERS = (
    *("bakery", "lighthouse", "mill", "library", "castle", "garage", "bank", "theater", "prison", "monastery"),
    *("airport", "brewery", "museum", "hospital", "pharmacy", "observatory"),
)
WORDS = (
    *("copper", "tiger", "velvet", "thunder", "lemon", "marble", "pepper", "rocket", "silver", "dragon", "butter"),
    *("anchor", "candle", "forest", "guitar", "hammer", "island", "jacket", "kitten", "magnet", "needle", "orange"),
    *("pocket", "rabbit", "saddle", "temple", "turtle", "violin", "walnut", "yellow", "zebra"),
)


def claims(source: str) -> bool:
    return source == NAME or source.startswith(f"{NAME}:")


def load(source: str) -> Iterator[RawRow]:
    """One row for each length, depth and number. Raises UserError for a key or number that cannot be."""
    settings = _settings(source)
    (per_cell,), (seed,) = settings["per_cell"], settings["seed"]
    total = sum(settings["lengths"]) * len(settings["depths"]) * per_cell
    if total > MOST_TOKENS:
        raise UserError(f"{source} makes {total:,} tokens of text; ask for at most {MOST_TOKENS:,}.")
    for length, depth, number in itertools.product(settings["lengths"], settings["depths"], range(1, per_cell + 1)):
        yield RawRow(_fields(length, depth, number, seed), f"{NAME}: length {length}, depth {depth} %, number {number}")


def _fields(length: int, depth: int, number: int, seed: int) -> Mapping[str, object]:
    name = f"{NAME}/{seed}/{length}-{depth}-{number}"
    owners = _haystack.draw_several(f"{name}/owners", OWNERS, HIDDEN)
    words = _haystack.draw_several(f"{name}/words", WORDS, HIDDEN)
    # A quarter apart, on the circle of 0 to 100 %; where the needle is at 100 the others are at 25, 50 and 75.
    places = [depth / 100.0, *(((depth + step) % 100) / 100.0 for step in (25, 50, 75))]
    hidden = [(place, f"{_lead(owner)} {word}.") for place, owner, word in zip(places, owners, words, strict=True)]
    text = _haystack.hide(name, length, hidden)
    return {
        "id": name,
        "slice": "long_context",
        "scorer": "needle",
        "prompt": f"{text}\n\nWhat is the secret word of the {owners[0]}? It stands in the text above.",
        "answer": words[0],
        "max_tokens": ANSWER_TOKENS,
        "tags": {"kind": "needle", "length": str(length), "depth": str(depth)},
        "arguments": {"others": words[1:], "lead": _lead(owners[0])},
    }


def _lead(owner: str) -> str:
    return f"The secret word of the {owner} is"


def _settings(source: str) -> dict[str, tuple[int, ...]]:
    settings = dict(DEFAULTS)
    written = source.removeprefix(NAME).removeprefix(":")
    given: set[str] = set()
    for part in written.split(",") if written else []:
        key, _, value = part.partition("=")
        if key not in DEFAULTS:
            raise UserError(f"{source!r} has {part!r}; expected KEY=NUMBER with the keys {', '.join(DEFAULTS)}.")
        if key in given:
            raise UserError(f"{source!r} gives {key} twice; give it once, as in lengths=512+1024.")
        given.add(key)
        settings[key] = _numbers(source, key, value)
    return settings


def _numbers(source: str, key: str, written: str) -> tuple[int, ...]:
    least, most = LIMITS[key]
    parts = written.split("+") if key in SEVERAL else [written]
    if not all(part.isascii() and part.isdigit() and len(part) < 12 and least <= int(part) <= most for part in parts):
        several = ", several joined by '+'" if key in SEVERAL else ""
        raise UserError(f"{source!r} has {key}={written}; expected whole numbers from {least} to {most}{several}.")
    numbers = tuple(int(part) for part in parts)
    if len(set(numbers)) != len(numbers):
        raise UserError(f"{source!r} has {key}={written}; expected different numbers.")
    return numbers


LOADER = Loader(
    name=NAME,
    summary="generated texts with a sentence to find (needle:lengths=512+2048,depths=0+50+100,per_cell=4,seed=0)",
    claims=claims,
    load=load,
)
