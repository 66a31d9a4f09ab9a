"""The audit names what is weak about a golden set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paredown.evaluate import audit
from paredown.evaluate.audit import Finding
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.records.verdict import Margin


def item(
    name: str, prompt: str = "", slice_name: str = "s", choices: tuple[str, ...] = (), **arguments: str
) -> GoldenItem:
    messages = (Message("user", prompt or name),)
    return GoldenItem(name, slice_name, "likelihood", messages, "0", choices=choices, arguments=arguments)


def check(items: list[GoldenItem], *margins: Margin, **more: object) -> tuple[Finding, ...]:
    return audit.check(items, margins, smallest_drop=lambda count: 2.71 / (count + 2.71), **more)  # type: ignore[arg-type]


def test_a_sound_set_has_no_findings() -> None:
    assert check([item(str(n), choices=("a", "b")) for n in range(100)], Margin("s", 0.03, gated=True)) == ()


def test_the_same_question_twice_is_found() -> None:
    (found,) = check([item("a", "x"), item("b", "x"), item("c", "y")])
    assert (found.kind, found.items) == ("duplicate", ("a", "b"))


def test_the_same_question_with_other_choices_is_no_duplicate() -> None:
    assert check([item("a", "x", choices=("1", "2")), item("b", "x", choices=("3", "4"))]) == ()


def test_a_slice_too_small_for_its_margin_says_what_it_can_see() -> None:
    (found,) = check([item(str(n)) for n in range(20)], Margin("s", 0.05, gated=True))
    assert (found.kind, found.slice) == ("small slice", "s")
    assert "20 items" in found.sentence
    assert "below 11.9 points, and its margin is 5" in found.sentence


def test_members_of_a_pool_count_together() -> None:
    items = [item(f"{name}{n}", slice_name=name) for name in "ab" for n in range(50)]
    assert check(items, Margin("pool", 0.03, gated=True, members=("a", "b"))) == ()


def test_a_gate_without_items_is_found() -> None:
    (found,) = check([item("a")], Margin("safety", 0.03, gated=True))
    assert found.kind == "empty slice"


def test_items_beyond_the_context_are_found() -> None:
    (found,) = check([item("a"), item("b")], tokens={"a": 9000, "b": 10}, context_length=8192)
    assert (found.kind, found.items) == ("too long", ("a",))
    assert check([item("a")], tokens={"a": 9000}) == ()


def test_tokens_are_counted_with_the_longest_choice_or_the_limit_of_the_answer(toy: Callable[..., Any]) -> None:
    items = [item("a", choices=("x", "xyz")), item("b")]
    prompts = [len(toy().render(one.messages)) for one in items]
    assert audit.count_tokens(toy(), items) == {"a": prompts[0] + 3, "b": prompts[1] + 32}


def test_choices_whose_form_decides_are_found() -> None:
    kinds = {f.kind: f.items for f in check([item("a", choices=(" x", "y")), item("b", choices=("1", "12"))])}
    assert kinds == {"spaced choice": ("a",), "prefix choice": ("b",)}
    assert check([item("b", choices=("1", "12"), normalize="tokens")]) == ()


def test_the_gate_over_all_prompts_counts_every_slice() -> None:
    items = [item(f"{name}{n}", slice_name=name) for name in ("a", "b") for n in range(60)]
    assert check(items, Margin("all", 0.03, gated=True)) == ()
