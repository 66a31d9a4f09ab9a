import pytest

from paredown.errors import UnknownNameError, UserError
from paredown.records.verdict import Margin
from paredown.spec import margins, targets

SLICES = ("facts", "reasoning", "safety")


def asked(*texts):
    return targets.parse_all(texts, {})


def test_one_pooled_gate_decides_and_every_slice_is_watched():
    found = margins.gates(asked("quality_drop<=3pt"), {}, (), SLICES)
    assert found.margins == (Margin("all", 0.03, gated=True), *(Margin(s, 0.03, gated=False) for s in SLICES))
    assert not found.assumed


def test_a_named_slice_becomes_a_gate_and_is_not_watched_twice():
    found = margins.gates(asked("quality_drop<=3pt", "quality_drop[safety]<=1pt"), {}, (), SLICES)
    assert [(m.slice, m.gated) for m in found.margins] == [
        ("all", True),
        ("safety", True),
        ("facts", False),
        ("reasoning", False),
    ]


def test_without_any_drop_all_prompts_are_gated_at_two_points_and_it_says_so():
    found = margins.gates((), {}, ("facts",), SLICES)
    assert found.margins == (Margin("all", 0.02, gated=True), Margin("facts", 0.02, gated=False))
    assert found.assumed


def test_small_slices_are_pooled_with_a_plus():
    found = margins.gates((), {"facts+safety": 4.0}, (), SLICES)
    assert found.margins[0] == Margin("facts+safety", 0.04, gated=True, members=("facts", "safety"))


def test_a_slice_without_prompts_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'safety'"):
        margins.gates(asked("quality_drop[safty]<=3pt"), {}, (), SLICES)
    with pytest.raises(UnknownNameError, match="Did you mean 'facts'"):
        margins.gates((), {}, ("fact",), SLICES)


def test_two_margins_for_one_slice_are_refused():
    with pytest.raises(UserError, match="two margins"):
        margins.gates(asked("quality_drop[safety]<=3pt"), {"safety": 2.0}, (), SLICES)


def test_a_slice_may_not_be_named_like_the_pool():
    with pytest.raises(UserError, match="Rename"):
        margins.gates((), {}, (), ("all", "facts"))
