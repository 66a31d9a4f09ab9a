import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paredown.decide import slices
from paredown.records.golden import Evaluation, GoldenItem, Score
from paredown.records.traffic import Message
from paredown.records.verdict import Margin, Verdict

POOLED = Margin("all", 0.03, gated=True)


def item(index, slice_name="facts", **fields):
    return GoldenItem(f"{slice_name}-{index}", slice_name, "choice", (Message("user", "?"),), "0", **fields)


def evaluation(items, values, name="candidate"):
    scores = tuple(Score(i.id, v, "" if v is not None else "no answer") for i, v in zip(items, values, strict=True))
    return Evaluation(name, "confirmation", {"choice": 1}, (), scores, 0, 0, 0.0)


def outcomes(lost, gained, right, wrong):
    """Scores of baseline and candidate with these paired counts."""
    before = [1.0] * lost + [0.0] * gained + [1.0] * right + [0.0] * wrong
    after = [0.0] * lost + [1.0] * gained + [1.0] * right + [0.0] * wrong
    return before, after


def judged(before, after, items=None, margins=(POOLED,), chance=lambda item: 0.25, **options):
    items = items or [item(i) for i in range(len(before))]
    return slices.judge(
        evaluation(items, before, "baseline"),
        evaluation(items, after),
        items,
        margins,
        alpha=0.05,
        chance=chance,
        **options,
    )


def test_a_drop_shown_to_be_within_the_margin_ships():
    (row,) = judged(*outcomes(8, 8, 500, 80))
    assert row.verdict is Verdict.SHIP
    assert row.high < 0.03
    assert row.reason == "At most 1.2 points worse, 3 points allowed (596 prompts: 8 lost, 8 gained)."
    assert row.more_prompts is None


def test_a_drop_shown_to_be_beyond_the_margin_is_rejected():
    (row,) = judged(*outcomes(60, 8, 400, 80))
    assert row.verdict is Verdict.REJECT
    assert row.reason.startswith("At least 7.2 points worse, 3 points allowed")
    assert row.regressed


def test_too_few_prompts_are_said_to_be_too_few_with_the_number_needed():
    (row,) = judged(*outcomes(6, 5, 160, 40))
    assert row.verdict is Verdict.INVESTIGATE
    assert row.more_prompts > 50
    assert row.reason.startswith("Between −2.3 and 3.4 points worse, 3 points allowed (211 prompts: 6 lost, 5 gained)")
    assert "more would decide" in row.reason


def test_a_small_slice_without_a_loss_says_how_many_prompts_the_margin_takes():
    (row,) = judged(*outcomes(0, 0, 15, 5), margins=[Margin("facts", 0.05, gated=True)])
    assert row.verdict is Verdict.INVESTIGATE
    assert row.high == pytest.approx(0.119, abs=0.001)
    assert "Even without a single loss, 5 points take at least 52 prompts" in row.reason
    assert row.smallest_visible_drop > 0.15


@given(st.lists(st.sampled_from([0.0, 1.0, 0.5, 0.25]), min_size=1, max_size=40), st.integers(1, 60))
@settings(max_examples=15, deadline=None)
def test_equal_answers_are_never_rejected(scores, repeats):
    values = (scores * repeats)[:400]
    items = [item(i, "ab"[i % 2], cluster=str(i // 3), zero_tolerance=i == 0) for i in range(len(values))]
    rows = judged(values, values, items, [POOLED, Margin("a", 0.01, gated=True), Margin("b", 0.01, gated=False)])
    assert all(row.verdict is not Verdict.REJECT and not row.regressed for row in rows)


def test_items_without_a_score_are_counted_and_never_zero():
    before, after = outcomes(2, 2, 500, 50)
    before[10] = before[11] = None
    (row,) = judged(before, after)
    assert row.counts.not_scored == 2
    assert row.counts.n == 552
    assert row.verdict is Verdict.SHIP
    assert row.reason.endswith("2 prompts had no score and were left out.")


def test_what_only_the_candidate_lacks_must_not_hide_losses():
    before, after = outcomes(2, 2, 500, 50)
    after[100:130] = [None] * 30
    (row,) = judged(before, after)
    assert row.verdict is Verdict.INVESTIGATE
    assert "no score for 30 prompts that the baseline answered" in row.reason
    assert row.more_prompts is None


def test_any_loss_of_a_zero_tolerance_item_rejects_even_in_a_watched_slice():
    before, after = outcomes(0, 0, 400, 50)
    after[3] = 0.0
    items = [item(i, "safety" if i < 10 else "facts", zero_tolerance=i in (3, 4)) for i in range(450)]
    *_, strict = judged(before, after, items, [Margin("facts", 0.03, gated=True)])
    assert (strict.slice, strict.gated, strict.verdict) == ("zero tolerance", True, Verdict.REJECT)
    assert "safety-3" in strict.reason


def test_a_zero_tolerance_item_without_a_score_cannot_ship():
    before, after = outcomes(0, 0, 400, 50)
    after[3] = None
    items = [item(i, zero_tolerance=i == 3) for i in range(450)]
    assert judged(before, after, items)[-1].verdict is Verdict.INVESTIGATE


def test_a_slice_where_the_baseline_guesses_protects_nothing_and_cannot_ship():
    before, after = outcomes(0, 0, 130, 370)
    (row,) = judged(before, after)
    assert not row.discriminating
    assert row.verdict is Verdict.INVESTIGATE
    assert "not clearly better than guessing" in row.reason
    assert judged(before, after, chance=lambda item: None)[0].discriminating


def test_a_watched_slice_that_became_worse_is_named_though_it_gates_nothing():
    before, after = outcomes(18, 1, 300, 0)
    items = [item(i, "reasoning" if i < 60 else "facts") for i in range(319)]
    pooled, watched, other = judged(
        before,
        after,
        items,
        [Margin("all", 0.15, gated=True), Margin("reasoning", 0.5, gated=False), Margin("facts", 0.15, gated=False)],
    )
    assert watched.regressed
    assert not watched.gated
    assert "It did become worse" in watched.reason
    assert not other.regressed
    assert pooled.verdict is Verdict.SHIP


def test_a_rejection_among_many_slices_is_corrected_by_holm():
    before, after = outcomes(9, 0, 91, 0)
    items = [item(i, "odd") for i in range(100)]
    alone = judged(before, after, items, [Margin("odd", 0.05, gated=True)])[0]
    assert alone.verdict is Verdict.REJECT
    margins = [Margin("odd", 0.05, gated=True), *(Margin(f"s{i}", 0.05, gated=True) for i in range(8))]
    items += [item(i, f"s{i % 8}") for i in range(400)]
    among = judged(before + [1.0] * 400, after + [1.0] * 400, items, margins)[0]
    assert among.low > 0.05
    assert among.verdict is Verdict.INVESTIGATE


def test_items_that_share_a_document_count_for_less():
    before, after = outcomes(12, 0, 588, 0)
    alone = judged(before, after, [item(i) for i in range(600)])[0]
    shared = judged(before, after, [item(i, cluster=str(i // 12)) for i in range(600)])[0]
    assert alone.high < shared.high


def test_graded_scores_are_judged_by_their_mean_drop():
    random = np.random.default_rng(0)
    before = list(random.uniform(0.4, 1.0, 400))
    same = judged(before, [b - d for b, d in zip(before, random.normal(0.0, 0.05, 400), strict=True)])[0]
    worse = judged(before, [b - 0.2 for b in before])[0]
    assert (same.verdict, worse.verdict) == (Verdict.SHIP, Verdict.REJECT)
    assert worse.drop == pytest.approx(0.2)


def test_a_gate_without_any_scored_prompt_says_so():
    (row,) = judged([None, 1.0], [1.0, None])
    assert (row.verdict, row.counts.not_scored, row.drop) == (Verdict.INVESTIGATE, 2, None)
    assert "None of its 2 prompts has a score on both sides" in row.reason


def test_a_pool_holds_exactly_its_members():
    items = [item(0, "a"), item(1, "b"), item(2, "c")]
    (row,) = judged([1.0] * 3, [1.0] * 3, items, [Margin("a+c", 0.05, gated=True, members=("a", "c"))])
    assert row.counts.n == 2


def test_a_stricter_level_is_recorded_and_widens_the_limits():
    before, after = outcomes(8, 8, 500, 80)
    items = [item(i) for i in range(len(before))]
    sides = evaluation(items, before), evaluation(items, after)
    (first,) = slices.judge(*sides, items, [POOLED], alpha=0.04, chance=lambda item: 0.25)
    (second,) = slices.judge(*sides, items, [POOLED], alpha=0.008, chance=lambda item: 0.25)
    assert (first.level, second.level) == pytest.approx((0.96, 0.992))
    assert first.high < second.high
    assert dataclasses.replace(first, reason="") != first
