"""The fidelity gate: breakage in one part does not hide in the mean, and a healthy 4-bit model is not accused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paredown.decide import gates
from paredown.records.golden import Check, Fidelity, FidelityFloor, FidelityPart


def part(
    name: str, kl: float, top1: float = 0.8, *, kind: str = "text", positions: int = 64, error: float = 0.1
) -> FidelityPart:
    return FidelityPart(name, kind, positions, 1, 4, kl, error * kl, top1, error * top1 / 4)


def found(*parts: FidelityPart, kl: float = 0.3, top1: float = 0.7) -> Fidelity:
    return Fidelity("c", "FULL", (), 32, kl, 3 * kl, 9 * kl, top1, 1000, parts=parts)


def judged(fidelity: Fidelity) -> Check:
    return gates.fidelity(fidelity, max_mean_kl=1.0, min_top1=0.5)


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("text", "plain/russian", "in plain/russian mean KL 4.2 nats"),
        ("slice", "multilingual", "in multilingual mean KL 4.2 nats"),
        ("positions", "4,096–8,191", "at positions 4,096–8,191 mean KL 4.2 nats"),
    ],
)
def test_a_broken_part_rejects_and_is_named_where_the_mean_is_fine(kind: str, name: str, said: str) -> None:
    check = judged(found(part("other", 0.2, kind=kind), part(name, 4.2, 0.3, kind=kind)))
    assert check.passed is False
    assert check.detail.startswith(f"Broken in a part: {said}, at most 1 allowed")
    assert "All positions: mean KL 0.3 nats" in check.detail


def test_a_candidate_that_is_broken_over_all_says_where_most() -> None:
    """Keys and values beyond 1,024 positions with noise of their own spread: mean KL 1.95."""
    far = part("2,048–4,095", 9.0, 0.1, kind="positions")
    check = judged(found(far, part("0–255", 0.02, kind="positions"), kl=1.95))
    assert check.passed is False
    assert check.detail == (
        "Broken: mean KL 1.95 nats, at most 1 allowed. "
        "Much worse at positions 2,048–4,095 (mean KL 9 nats, 0.02 elsewhere)."
    )


def test_agreement_alone_breaks_a_part_too() -> None:
    check = judged(found(part("plain/russian", 0.9, 0.2)))
    assert check.passed is False
    assert "in plain/russian same first choice at only 20 % of 64 positions" in check.detail


def test_a_healthy_four_bit_model_agrees_at_under_half_of_the_positions_of_a_hard_text() -> None:
    assert judged(found(part("plain/russian", 0.61, 0.44, error=0.01), part("plain/english", 0.35))).passed is True


def test_a_part_whose_error_reaches_below_the_limit_does_not_reject() -> None:
    assert judged(found(part("plain/russian", 1.3, error=0.3), part("plain/english", 0.6))).passed is True
    assert judged(found(part("plain/russian", 1.3, error=0.01), part("plain/english", 0.6))).passed is False


def test_above_the_limit_and_much_worse_than_the_others_rejects_also_with_a_large_error() -> None:
    """A rotary base ten times too small, at 2,048 positions."""
    far = part("2,048–4,095", 1.61, 0.6, kind="positions", error=0.2)
    check = judged(found(far, part("0–255", 0.08, kind="positions")))
    assert check.passed is False
    assert "at positions 2,048–4,095 mean KL 1.61 nats" in check.detail


def test_many_parts_need_more_than_one_part_alone() -> None:
    borderline = part("plain/russian", 1.2, error=0.09)
    assert judged(found(borderline)).passed is False
    assert judged(found(borderline, *(part(str(n), 0.9) for n in range(30)))).passed is True


def test_few_positions_or_no_error_judge_nothing() -> None:
    assert judged(found(part("plain/russian", 9.0, 0.1, positions=31))).passed is True
    alone = replace(part("plain/russian", 9.0, 0.1), mean_kl_se=None, top1_se=None)
    assert judged(found(alone)).passed is True


def test_a_part_that_is_much_worse_than_the_others_is_named_and_passes() -> None:
    check = judged(found(part("plain/russian", 0.6), part("plain/english", 0.05), part("plain/german", 0.05)))
    assert check.passed is True
    assert check.warns
    assert "Much worse in plain/russian (mean KL 0.6 nats, 0.05 elsewhere)." in check.detail


def test_a_warning_needs_95_percent_for_itself_and_not_over_all_parts() -> None:
    far = part("4,096–8,191", 0.18, kind="positions", error=0.25)
    others = [part(str(place), 0.02, kind="positions") for place in range(30)]
    assert judged(found(far, *others)).warns
    assert not judged(found(replace(far, mean_kl_se=0.09), *others)).warns


def test_parts_are_compared_with_parts_of_their_own_kind() -> None:
    check = judged(found(part("plain/russian", 0.6), part("plain/german", 0.3), part("0–255", 0.01, kind="positions")))
    assert not check.warns


def test_differences_that_healthy_four_bit_models_show_are_no_warning() -> None:
    check = judged(found(part("plain/russian", 0.6), part("plain/english", 0.2), part("plain/german", 0.2)))
    assert (check.passed, check.warns) == (True, False)


def test_a_part_that_is_as_good_as_eight_bits_is_no_warning_however_good_the_others_are() -> None:
    assert not judged(found(part("plain/russian", 0.04), part("plain/english", 0.0001))).warns


def test_a_window_and_its_stretch_of_positions_are_named_once() -> None:
    window = part("long text at 4,096", 4.2, 0.3)
    check = judged(found(window, replace(window, name="4,096–8,191", kind="positions"), part("0–255", 0.1)))
    assert "at positions 4,096–8,191" in check.detail
    assert "long text" not in check.detail


def test_the_worst_parts_come_first_and_three_are_named() -> None:
    check = judged(found(*(part(f"p{n}", 2.0 + n) for n in range(5))))
    assert [name for name in ("p4", "p3", "p2", "p1", "p0") if name in check.detail] == ["p4", "p3", "p2"]
    assert check.detail.index("p4") < check.detail.index("p2")


def test_a_candidate_within_the_noise_floor_is_said_not_to_differ() -> None:
    floor = FidelityFloor(0.001, 0.0012, 0.001, 0.99, 0.0, 0.001, 1000, "another order")
    assert "no difference" in judged(replace(found(kl=0.0011), floor=floor)).detail
    assert "no difference" not in judged(replace(found(kl=0.0013), floor=floor)).detail
