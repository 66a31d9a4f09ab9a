"""Groups of items by tag: what they hold, and that they only point."""

from __future__ import annotations

import pytest

from paredown.decide import breakdown
from paredown.decide.pairs import Pair
from paredown.records.explanation import Group
from paredown.records.golden import GoldenItem
from paredown.stats import tango


def items(count: int, lost: int, gained: int = 0, first: int = 0, **fields: object) -> list[Pair]:
    """`count` pairs, of which the first `lost` are lost and the next `gained` are gained; the rest are right."""
    scores = [(1.0, 0.0)] * lost + [(0.0, 1.0)] * gained + [(1.0, 1.0)] * (count - lost - gained)
    settings = {"slice": "s", "scorer": "exact_match", "messages": (), "answer": "x"} | fields
    return [
        Pair(GoldenItem(id=f"{settings['slice']}{first + i}", **settings), before, after)  # type: ignore[arg-type]
        for i, (before, after) in enumerate(scores)
    ]


def by_value(pairs: list[Pair], lengths: dict[str, int] | None = None) -> dict[str, Group]:
    return {group.value: group for group in breakdown.groups(pairs, lengths or {})}


def test_the_language_that_lost_its_answers_is_named_and_the_other_is_not() -> None:
    russian = items(60, lost=25, tags={"language": "ru"})
    english = items(60, lost=2, gained=2, first=60, tags={"language": "en"})
    found = by_value(russian + english)
    assert found["ru"].suffers
    assert not found["en"].suffers
    assert (found["ru"].n, found["ru"].lost, found["ru"].gained) == (60, 25, 0)
    assert found["ru"].drop == pytest.approx(25 / 60)


def test_limits_of_right_or_wrong_items_are_tangos() -> None:
    found = by_value(items(50, lost=4, gained=1, slice="a") + items(30, lost=0, slice="b"))
    limits = tango.limits(4, 1, 50, 0.05)
    assert (found["a"].low, found["a"].high) == (limits.low, limits.high)


def test_p_values_are_corrected_for_all_groups() -> None:
    """4 lost of 4: alone mid-p is 0.0625; five groups more make it 0.375."""
    quiet = [pair for name in "bcdef" for pair in items(10, lost=0, slice=name)]
    found = by_value(items(10, lost=4, slice="a") + quiet)
    assert found["a"].p_value == pytest.approx(6 * 0.0625)


def test_items_of_one_document_count_as_one() -> None:
    """Thirty losses in a single document are one loss: the limits stay wide."""
    alone = by_value(items(100, lost=30, slice="a") + items(10, lost=0, slice="b"))["a"]
    together = [
        Pair(GoldenItem(f"d{i}", "a", "exact_match", (), "x", cluster=f"doc {i // 30}"), one.baseline, one.candidate)
        for i, one in enumerate(items(100, lost=30, slice="a"))
    ]
    clustered = by_value(together + items(10, lost=0, slice="b"))["a"]
    assert clustered.low < alone.low
    assert clustered.p_value > alone.p_value


def test_prompts_are_grouped_by_their_length() -> None:
    pairs = items(6, lost=1)
    lengths = {"s0": 127, "s1": 128, "s2": 511, "s3": 2047, "s4": 8192}
    found = by_value(pairs, lengths)
    assert {name: group.n for name, group in found.items()} == {
        "under 128 tokens": 1,
        "128 to 511": 2,
        "512 to 2,047": 1,
        "8,192 and more": 1,
    }


def test_a_tag_with_many_values_or_one_or_the_same_parts_as_another_is_left_out() -> None:
    pairs = [
        Pair(
            GoldenItem(
                f"i{i}", f"s{i % 2}", "exact_match", (), "x", tags={"id": str(i), "all": "1", "same": f"t{i % 2}"}
            ),
            1.0,
            1.0,
        )
        for i in range(30)
    ]
    assert {group.tag for group in breakdown.groups(pairs, {})} == {"slice"}


def test_groups_of_a_tag_stand_together_with_the_worst_first() -> None:
    pairs = items(20, lost=1, slice="a") + items(20, lost=5, slice="b") + items(20, lost=0, slice="c")
    assert [group.value for group in breakdown.groups(pairs, {})] == ["b", "a", "c"]


def test_graded_scores_have_limits_too() -> None:
    pairs = [Pair(GoldenItem(f"i{i}", f"s{i % 2}", "judge", (), ""), 0.8, 0.8 - 0.1 * (i % 2)) for i in range(80)]
    found = by_value(pairs)
    assert found["s1"].drop == pytest.approx(0.1)
    assert found["s1"].low < 0.1 < found["s1"].high
    assert found["s1"].lost == 40
