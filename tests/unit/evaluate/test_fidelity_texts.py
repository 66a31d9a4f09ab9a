"""Which texts fidelity is measured on: every language is looked at, and positions far into the context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from paredown.evaluate import fidelity
from paredown.evaluate.fidelity import texts as made
from paredown.evaluate.fidelity.texts import PlainText
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message

PLAIN = [PlainText(name, f"{name} " * 40) for name in ("alpha", "beta", "gamma")]


def item(name: str, slice_name: str, language: str = "") -> GoldenItem:
    tags = {"language": language} if language else {}
    return GoldenItem(name, slice_name, "exact_match", (Message("user", name),), "x", tags=tags)


def long_windows(toy: Callable[..., Any], context_length: int, furthest: int) -> list[Any]:
    engine = toy(context_length=context_length)
    found = fidelity.baseline_texts(engine, [], PLAIN, top_k=2, furthest=furthest, complete=engine.complete)
    return [text for text in found if text.slice == fidelity.LONG_SLICE and not text.truncation]


def test_a_text_by_itself_is_no_prompt() -> None:
    text = GoldenItem("t", "words", "perplexity", (), "0", choices=("Once more.",))
    assert fidelity.choose_prompts([text]) == ()


def test_languages_of_a_slice_take_turns() -> None:
    items = [item(f"{n:02}", "words", "de" if n < 8 else "ru") for n in range(16)]
    chosen = fidelity.choose_prompts(items, 4)
    assert [one.tags["language"] for one in chosen] == ["de", "ru", "de", "ru"]


def test_a_plain_text_counts_in_the_part_of_its_language() -> None:
    parts = {text.id: text.part for text in fidelity.plain_texts()}
    assert parts["russian"] == "plain/russian"
    assert parts["english-essay"] == parts["english-story"] == "plain/english"


def test_a_tagged_answer_counts_in_the_part_of_its_language(toy: Callable[..., Any]) -> None:
    engine = toy()
    asked = [item("a", "words", "ru"), item("b", "facts")]
    found = fidelity.baseline_texts(engine, asked, [], top_k=2, complete=engine.complete)
    assert [text.parts for text in found if not text.truncation] == [("words/ru",), ()]


@pytest.mark.parametrize(
    ("context_length", "furthest", "positions"),
    [
        (8192, 4096, (256, 1024, 2048, 4096)),
        (4096, 4096, (256, 1024, 2048)),
        (100_000, 20_000, (256, 1024, 2048, 4096, 8192, 16384)),
        (0, 4096, (256, 1024)),
        (512, 4096, (256,)),
        (300, 4096, ()),
        (8192, 0, ()),
    ],
)
def test_windows_go_as_far_as_the_context_and_the_limit_allow(
    context_length: int, furthest: int, positions: tuple[int, ...]
) -> None:
    assert made.window_positions(context_length, furthest) == positions


def test_every_window_says_again_what_only_the_beginning_said() -> None:
    text = made.long_text(4, PLAIN)
    sentences = [sentence for window in text.windows for sentence in window.split(". ") if " keeps the " in sentence]
    assert len(sentences) == 4 * made.FACTS_A_WINDOW
    assert len({sentence.partition(" keeps ")[0] for sentence in sentences}) == len(sentences)
    assert all(sentence.strip().rstrip(".") in text.head for sentence in sentences)
    assert not any(" keeps the " in piece for piece in text.filler)


def test_another_seed_is_another_long_text_and_the_same_seed_the_same() -> None:
    assert made.long_text(4, PLAIN, 1) == made.long_text(4, PLAIN, 1)
    assert made.long_text(4, PLAIN, 1).head != made.long_text(4, PLAIN, 2).head


def test_windows_start_where_they_are_wanted_and_the_filler_begins_again_when_it_is_used_up() -> None:
    first, second = made.place_windows([1, 1], [[7], [8, 8]], [[2, 3], [4]], (4, 10), ("a", "b"))
    assert (first.token_ids, first.start, first.text) == ((1, 1, 2, 3, 7), 4, "a")
    assert (second.token_ids, second.start) == ((1, 1, 2, 3, 7, 4, 2, 3, 4, 2, 8, 8), 10)


def test_a_head_that_is_longer_than_the_first_position_moves_the_window() -> None:
    (window,) = made.place_windows([1] * 6, [[7]], [[2]], (4,), ("a",))
    assert (window.start, window.token_ids) == (6, (1, 1, 1, 1, 1, 1, 7))


def test_windows_are_texts_of_one_cluster_that_share_their_beginning(toy: Callable[..., Any]) -> None:
    windows = long_windows(toy, 3000, 2048)
    assert [text.start >= position for text, position in zip(windows, (256, 1024, 2048), strict=True)] == [True] * 3
    assert {text.cluster for text in windows} == {fidelity.LONG_SLICE}
    assert windows[-1].token_ids[: windows[0].start] == windows[0].token_ids[: windows[0].start]
    assert windows[-1].parts == (f"long text at {windows[-1].start:,}",)
    assert all(len(text.top_ids) == len(text.token_ids) - text.start for text in windows)


def test_the_long_text_reaches_as_far_as_the_longest_prompt_and_never_less_than_4096(toy: Callable[..., Any]) -> None:
    short, long = item("a", "s"), replace(item("b", "s"), messages=(Message("user", "x" * 9000),))
    assert fidelity.furthest_position(toy(), [short]) == 4096
    assert fidelity.furthest_position(toy(), [short, long]) == len(toy().render(long.messages)) > 9000
    assert fidelity.furthest_position(toy(), []) == 4096


def test_the_beginning_token_stands_once_before_every_text_and_never_within(toy: Callable[..., Any]) -> None:
    engine = toy(context_length=3000)
    engine.encode_texts = lambda texts, special_tokens=False: tuple(
        ((1,) if special_tokens else ()) + engine.ids(text) for text in texts
    )
    found = fidelity.baseline_texts(engine, [], PLAIN, top_k=2, furthest=2048, complete=engine.complete)
    assert [(text.token_ids[0], text.token_ids.count(1)) for text in found] == [(1, 1)] * len(found)


def test_answers_of_a_slice_that_is_called_plain_are_not_taken_for_plain_text(toy: Callable[..., Any]) -> None:
    engine = toy()
    found = fidelity.baseline_texts(engine, [item("a", "plain")], PLAIN, top_k=2, complete=engine.complete)
    assert [text.slice for text in found if not text.truncation] == ["plain (answers)", "plain", "plain", "plain"]
