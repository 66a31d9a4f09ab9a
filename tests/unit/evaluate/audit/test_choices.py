"""Choices whose form decides are found."""

from __future__ import annotations

from paredown.evaluate.audit import choices, wording


def test_choices_with_outer_spaces_or_that_begin_another_are_found(item) -> None:
    found = choices.find(
        [item("a", choices=(" x", "y")), item("b", choices=("1", "12")), item("c", choices=("x", "y"))]
    )
    assert {one.kind: one.items for one in found} == {"spaced choice": ("a",), "prefix choice": ("b",)}


def test_likelihoods_by_token_have_no_shorter_choice_to_favour(item) -> None:
    assert choices.find([item("b", choices=("1", "12"), arguments={"normalize": "tokens"})]) == ()


def test_one_item_has_and_two_have() -> None:
    assert wording.items(1, "has", "have") == "1 item has"
    assert wording.items(2_000, "has", "have") == "2,000 items have"
    assert wording.some(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert [wording.percent(share) for share in (0.0, 0.004, 0.006, 1.0)] == ["0 %", "under 1 %", "1 %", "100 %"]
