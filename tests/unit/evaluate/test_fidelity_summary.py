"""Figures from positions that are written down by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paredown.evaluate.fidelity import summary
from paredown.evaluate.fidelity.summary import WideRow
from paredown.records.golden import Fidelity, FidelityPart, TextFidelity


def text(name: str, kl: list[float], *, slice_name: str = "plain", start: int = 1, **more: Any) -> TextFidelity:
    same = tuple(value < 0.5 for value in kl)
    made = TextFidelity(
        name, slice_name, tuple(kl), same, same.index(False) if False in same else None, start=start,
        reverse_kl=tuple(2 * value for value in kl), topk_overlap=(0.5,) * len(kl),
        logprob_change=tuple(-value for value in kl),
    )  # fmt: skip
    return replace(made, **more)


def summarize(*texts: TextFidelity) -> Fidelity:
    return summary.summarize("c", "FULL", texts, top_k=32, agreement_k=10)


def part(found: Fidelity, name: str) -> FidelityPart:
    return next(one for one in found.parts if one.name == name)


def test_means_and_tails_are_over_all_positions() -> None:
    found = summarize(text("a", [0.0] * 999 + [10.0]), text("b", [1.0] * 1000))
    assert found.mean_kl == pytest.approx(0.505)
    assert found.mean_reverse_kl == pytest.approx(1.01)
    assert (found.max_kl, found.topk_agreement, found.positions) == (10.0, 0.5, 2000)
    assert found.p999_kl == pytest.approx(np.quantile([0.0] * 999 + [10.0] + [1.0] * 1000, 0.999))


def test_log_perplexity_is_paired_weighted_by_tokens_and_its_error_is_clustered_by_text() -> None:
    found = summarize(text("a", [0.1] * 30), text("b", [0.3] * 10), text("c", [0.2] * 20))
    assert found.log_perplexity_difference == pytest.approx((3 + 3 + 4) / 60)
    # The sandwich formula by hand: residual sums of the clusters, times √(G/(G − 1)), over all tokens.
    mean = 10 / 60
    residuals = np.array([3 - 30 * mean, 3 - 10 * mean, 4 - 20 * mean])
    error = math.sqrt(1.5 * (residuals**2).sum()) / 60
    assert found.log_perplexity_se == pytest.approx(error)
    assert found.perplexity_ratio == pytest.approx(math.exp(mean))
    assert found.perplexity_ratio_high == pytest.approx(math.exp(mean + 4.302653 * error))  # t with 2 degrees
    assert found.perplexity_texts == 3


def test_answers_that_the_model_wrote_itself_are_not_in_its_perplexity() -> None:
    plain = text("a", [0.1] * 4)
    assert summarize(plain, text("b", [5.0] * 4, slice_name="facts")).log_perplexity_difference == pytest.approx(0.1)
    assert summarize(text("b", [5.0] * 4, slice_name="facts")).log_perplexity_difference is None


def test_a_candidate_that_finds_the_text_less_likely_has_a_ratio_above_one() -> None:
    assert summarize(text("a", [0.2] * 4)).perplexity_ratio == pytest.approx(math.exp(0.2))


def test_one_text_has_no_error_of_its_perplexity() -> None:
    found = summarize(text("a", [0.2] * 40))
    assert (found.log_perplexity_se, found.perplexity_ratio_low) == (None, None)


def test_every_slice_and_every_named_part_has_its_own_figures() -> None:
    found = summarize(
        text("a", [0.1] * 4, parts=("plain/russian",)), text("b", [0.3] * 4, parts=("plain/english",)),
        text("c", [0.9] * 4, slice_name="facts"),
    )  # fmt: skip
    assert part(found, "plain").mean_kl == pytest.approx(0.2)
    assert part(found, "plain/russian").mean_kl == pytest.approx(0.1)
    assert part(found, "facts").top1_agreement == 0.0
    assert [one.kind for one in found.parts] == ["slice", "slice", "text", "text", "positions"]


def test_positions_are_counted_from_the_beginning_of_the_context() -> None:
    near, far = text("a", [0.1] * 10, start=250), text("b", [0.7] * 10, start=1020)
    found = summarize(near, far)
    by_name = {one.name: (one.positions, one.mean_kl) for one in found.parts if one.kind == "positions"}
    assert by_name == {
        "0–255": (6, pytest.approx(0.1)),
        "256–1,023": (4 + 4, pytest.approx(0.4)),
        "1,024–2,047": (6, pytest.approx(0.7)),
    }


def test_many_texts_are_their_own_units_and_few_are_cut_into_blocks() -> None:
    many = summarize(*(text(name, [0.1 * place] * 40) for place, name in enumerate("abcdef")))
    assert part(many, "plain").clusters == 6
    few = summarize(text("a", [0.1] * 40), text("b", [0.2] * 40))
    assert part(few, "plain").clusters == 6  # three blocks of at most 16 positions each


def test_windows_of_one_text_are_one_unit() -> None:
    texts = [text(name, [0.1] * 4, cluster="long") for name in "abcde"]
    assert part(summarize(*texts), "plain").clusters == 5  # by blocks, as one text is fewer than five
    others = [text(f"other {n}", [0.1] * 4) for n in range(5)]
    assert part(summarize(*texts, *others), "plain").clusters == 6


def test_a_single_unit_has_no_standard_error() -> None:
    assert part(summarize(text("a", [0.1] * 4)), "plain").mean_kl_se is None


def test_half_of_the_answers_have_diverged_at_the_median_and_none_means_fewer() -> None:
    answers = [text(str(n), [0.0] * n + [0.9] + [0.0] * 9, slice_name="s") for n in (2, 4, 9)]
    same = [text(f"same {n}", [0.0] * 10, slice_name="s") for n in range(2)]
    found = summarize(*answers, *same)
    assert (found.first_divergence, found.diverged, found.answers) == (9.0, 3, 5)
    assert summarize(*answers, *same, text("same 3", [0.0], slice_name="s")).first_divergence == 9.0
    assert summarize(answers[0], *same).first_divergence is None


def test_what_the_bound_misses_is_the_mean_of_the_differences_with_its_error() -> None:
    rows = [WideRow("a", 0.1, 0.12, 0.2, 0.3, 0.01), WideRow("b", 0.1, 0.16, 0.2, 0.5, 0.03)]
    found = summary.truncation(rows, 32, 1024)
    assert found is not None
    assert (found.missed, found.reverse_missed, found.wide_tail) == pytest.approx((0.04, 0.2, 0.02))
    assert found.missed_se == pytest.approx(0.02)
    assert (found.top_k, found.wide_k, found.positions, found.texts) == (32, 1024, 2, 2)
    assert summary.truncation([], 32, 1024) is None


def test_the_floor_is_the_upper_limit_of_the_baselines_own_divergence() -> None:
    texts = [text(str(n), [0.001 * n] * 10) for n in range(8)]
    floor = summary.floor(texts, "another order")
    assert floor is not None
    assert floor.mean_kl == pytest.approx(0.0035)
    error = np.std([0.001 * n for n in range(8)], ddof=1) / math.sqrt(8)
    assert floor.mean_kl_upper == pytest.approx(0.0035 + 1.6449 * error, rel=1e-4)
    assert summary.floor([], "another order") is None


@pytest.mark.parametrize(("kl", "within"), [(0.001, True), (0.02, False)])
def test_a_candidate_within_the_floor_is_no_difference(kl: float, within: bool) -> None:
    floor = summary.floor([text("a", [0.002] * 40)], "another order")
    found = summary.summarize("c", "FULL", [text("a", [kl] * 40)], top_k=32, floor=floor)
    assert found.within_floor is within
    assert summarize(text("a", [kl] * 40)).within_floor is None
