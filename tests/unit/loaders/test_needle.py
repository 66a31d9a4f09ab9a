"""Generated haystacks: the length and depth asked for, the same everywhere, with rivals in the text."""

from __future__ import annotations

import re

import pytest

from paredown import registry
from paredown.errors import UserError
from paredown.evaluate import golden
from paredown.loaders import _haystack, needle
from paredown.records.golden import GoldenItem

SMALL = "needle:lengths=256+600,depths=0+25+100,per_cell=2,seed=7"


@pytest.fixture(scope="module")
def items() -> tuple[GoldenItem, ...]:
    return golden.load([SMALL]).items


def haystack(item: GoldenItem) -> str:
    return item.messages[0].content.split("\n\n")[0]


def test_there_is_an_item_for_each_length_depth_and_number_in_one_slice(items: tuple[GoldenItem, ...]) -> None:
    cells = [(item.tags["length"], item.tags["depth"]) for item in items]
    assert sorted(set(cells)) == sorted((n, d) for n in ("256", "600") for d in ("0", "100", "25"))
    assert len(cells) == 12
    assert {item.slice for item in items} == {"long_context"}


def test_a_text_has_the_length_asked_for_to_within_one_sentence(items: tuple[GoldenItem, ...]) -> None:
    for item in items:
        assert 0 <= _haystack.tokens_of(haystack(item)) - int(item.tags["length"]) < 25


def test_the_needle_stands_at_its_depth(items: tuple[GoldenItem, ...]) -> None:
    for item in items:
        text = haystack(item)
        place = text.index(f"{item.arguments['lead']} {item.answer}.")
        assert abs(100 * place / (len(text) - 40) - int(item.tags["depth"])) < 10


def test_needle_and_rivals_each_stand_once_and_no_word_stands_in_the_prose(items: tuple[GoldenItem, ...]) -> None:
    for item in items:
        words = re.findall(r"\w+", haystack(item))
        found = {word: words.count(word) for word in needle.WORDS if word in words}
        assert found == dict.fromkeys(_choice_words(item), 1)
        assert len(found) == 4


def _choice_words(item: GoldenItem) -> list[str]:
    twin = registry.scorer("needle").twin(item)
    assert twin is not None
    return [choice.removesuffix(".").rpartition(" ")[2] for choice in twin.choices]


def test_no_word_or_owner_is_one_of_the_prose() -> None:
    prose = " ".join((*_haystack.SUBJECTS, *_haystack.ACTIONS, *_haystack.PLACES, *_haystack.TIMES)).lower()
    assert not set(re.findall(r"\w+", prose)) & {*needle.WORDS, *needle.OWNERS}


def test_the_same_source_is_the_same_set_and_another_seed_another(items: tuple[GoldenItem, ...]) -> None:
    assert golden.load([SMALL]).items == items
    other = golden.load([SMALL.replace("seed=7", "seed=8")]).items
    assert not {item.id for item in items} & {item.id for item in other}
    assert not {haystack(item) for item in items} & {haystack(item) for item in other}


def test_the_text_is_the_same_on_every_machine() -> None:
    assert golden.load([SMALL]).digest.startswith("0164fc9170d97e54")


def test_every_text_is_its_own(items: tuple[GoldenItem, ...]) -> None:
    assert len({haystack(item) for item in items}) == len(items)
    assert len({item.answer for item in items}) > 6


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("needle:length=5", "has 'length=5'; expected KEY=NUMBER with the keys lengths, depths, per_cell, seed."),
        ("needle:lengths", "lengths=; expected whole numbers from 128 to 1000000"),
        ("needle:lengths=64", "lengths=64; expected whole numbers from 128 to 1000000, several joined by '+'."),
        ("needle:depths=0+101", "depths=0+101; expected whole numbers from 0 to 100"),
        ("needle:depths=5+5", "expected different numbers"),
        ("needle:per_cell=2+3", "per_cell=2+3; expected whole numbers from 1 to 1000."),
        ("needle:seed=-1", "seed=-1; expected"),
        ("needle:seed=1,seed=2", "gives seed twice"),
        ("needle:lengths=1000000,per_cell=1000", "5,000,000,000 tokens of text; ask for at most 20,000,000."),
    ],
)
def test_what_cannot_be_made_is_refused(source: str, says: str) -> None:
    with pytest.raises(UserError, match=re.escape(says)):
        golden.load([source])
