"""A gate says what its prompts can show."""

from __future__ import annotations

import pytest

from paredown.evaluate.audit import sizes
from paredown.evaluate.audit.sizes import Reach
from paredown.records.audit import Severity
from paredown.records.golden import GoldenItem
from paredown.records.verdict import Margin

REACH = Reach(
    unchanged=lambda count: 2.71 / (count + 2.71), visible=lambda count: 4 / count, needed=lambda m: 188, flip_rate=0.05
)


def test_enough_prompts_are_no_finding(item) -> None:
    assert sizes.find([item(str(n)) for n in range(188)], [Margin("s", 0.03, gated=True)], REACH) == ()


def test_a_gate_too_small_for_its_margin_says_what_it_can_see_and_what_is_missing(item) -> None:
    (found,) = sizes.find([item(str(n)) for n in range(20)], [Margin("s", 0.05, gated=True)], REACH)
    assert (found.kind, found.slice, found.severity) == ("small slice", "s", Severity.WARN)
    for part in (
        "20 items",
        "below 11.9 points",
        "margin is 5,",
        "is 20 points",
        "Add about 168",
        "at least 12 points",
    ):
        assert part in found.sentence


def test_a_gate_that_passes_only_without_flips_is_a_note(item) -> None:
    (found,) = sizes.find([item(str(n)) for n in range(100)], [Margin("s", 0.05, gated=True)], REACH)
    assert (found.kind, found.severity) == ("few items", Severity.NOTE)
    assert "Add about 88" in found.sentence


@pytest.mark.parametrize(
    "margin", [Margin("pool", 0.03, gated=True, members=("a", "b")), Margin("all", 0.03, gated=True)]
)
def test_members_of_a_pool_count_together(item, margin) -> None:
    items = [item(f"{name}{n}", slice_name=name) for name in "ab" for n in range(94)]
    assert sizes.find(items, [margin], REACH) == ()


def test_a_gate_without_items_is_found(item) -> None:
    (found,) = sizes.find([item("a")], [Margin("safety", 0.03, gated=True)], REACH)
    assert found.kind == "empty slice"


def test_a_margin_that_no_number_of_prompts_shows_says_so(item) -> None:
    reach = Reach(REACH.unchanged, lambda _: None, lambda _: None, 0.05)
    (found,) = sizes.find([item("a")], [Margin("s", 0.03, gated=True)], reach)
    assert "1 item to" in found.sentence
    assert "Not even the loss of all" in found.sentence
    assert "widen the margin" in found.sentence


def test_a_gate_just_below_its_margin_can_never_pass_either() -> None:
    margin = Margin("s", 2.71 / 42.71, gated=True)
    assert [sizes.find(_items(count), [margin], REACH)[0].kind for count in (40, 41)] == ["small slice", "few items"]


def _items(count: int) -> list[GoldenItem]:
    return [GoldenItem(str(n), "s", "exact_match", (), "a") for n in range(count)]
