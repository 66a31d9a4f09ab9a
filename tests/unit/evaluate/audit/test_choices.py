"""Choices whose form decides are found."""

from __future__ import annotations

from paredown.evaluate.audit import choices


def test_choices_with_outer_spaces_or_that_begin_another_are_found(item) -> None:
    found = choices.find(
        [item("a", choices=(" x", "y")), item("b", choices=("1", "12")), item("c", choices=("x", "y"))]
    )
    assert {one.kind: one.items for one in found} == {"spaced choice": ("a",), "prefix choice": ("b",)}


def test_likelihoods_by_token_have_no_shorter_choice_to_favour(item) -> None:
    assert choices.find([item("b", choices=("1", "12"), arguments={"normalize": "tokens"})]) == ()
