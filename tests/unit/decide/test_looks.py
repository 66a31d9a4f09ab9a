"""A confirmation look by look, through the functions that a run decides with."""

from __future__ import annotations

import dataclasses

import pytest

from paredown.decide import looks, order
from paredown.decide.looks import Asked, walk
from paredown.records.golden import Evaluation, GoldenItem, Score
from paredown.records.traffic import Message
from paredown.records.verdict import Margin, Verdict
from paredown.stats import sequential

ALPHA, NEXT = 0.04, 0.008
ALL = Margin("all", 0.05, gated=True)


def items(count: int, slices=("facts", "safety"), **fields) -> tuple[GoldenItem, ...]:
    made = [
        GoldenItem(f"i{i:04d}", slices[i % len(slices)], "choice", (Message("user", "?"),), "0", **fields)
        for i in range(count)
    ]
    return order.frozen(made, seed=0)


def evaluation(scores: dict[str, float | None]) -> Evaluation:
    return Evaluation("x", "confirmation", {}, (), tuple(Score(k, v) for k, v in scores.items()), 0, 0, 0.0)


def confirm(ordered, candidate, margins=(ALL,), baseline=None, sizes=None):
    """Ask look by look what is wanted; the walk at the end, and what was asked in which part."""
    asked = Asked(ordered, sizes or sequential.look_sizes(len(ordered)), tuple(margins), ALPHA, NEXT)
    base = evaluation(baseline or {item.id: 1.0 for item in ordered})
    answered, parts = {}, []
    while True:
        found = walk(asked, base, evaluation(answered), lambda item: 0.25)
        if not found.wanted:
            return found, parts
        parts.append([item.id for item in found.wanted])
        answered |= {item.id: candidate.get(item.id, 1.0) for item in found.wanted}


def of(found, name):
    return next(row for row in found.slices if row.slice == name)


def losing(ordered, count, start=0):
    return {item.id: 0.0 for item in ordered[start : start + count]}


def test_a_clean_candidate_ships_at_an_early_look_and_says_what_that_saved() -> None:
    found, parts = confirm(items(400), {})
    assert of(found, "all").verdict is Verdict.SHIP
    assert (found.looks.planned, found.looks.asked, found.looks.looks_made) == (400, 120, 1)
    assert [len(part) for part in parts] == [120]
    assert "every gate" in found.looks.why.lower()
    assert "Decided at look 1 of 5." in of(found, "all").reason


def test_a_broken_candidate_is_rejected_at_the_first_look() -> None:
    ordered = items(400)
    found, _ = confirm(ordered, losing(ordered, 40))
    assert of(found, "all").verdict is Verdict.REJECT
    assert found.looks.looks_made == 1


def test_a_candidate_that_will_hardly_ship_is_stopped_without_a_rejection() -> None:
    ordered = items(400)
    found, _ = confirm(ordered, losing(ordered, 11))
    row = of(found, "all")
    assert row.verdict is Verdict.INVESTIGATE
    assert found.looks.looks_made == 1
    assert "would hardly have shipped" in found.looks.why
    assert row.low < 0.05 < row.high
    assert "more would decide" in row.reason
    assert row.more_prompts > 100


def test_the_limits_beside_a_verdict_agree_with_it_at_every_look() -> None:
    ordered = items(300)
    for lost in range(0, 60, 3):
        found, _ = confirm(ordered, {item.id: 0.0 for item in ordered[:: max(1, 300 // lost)][:lost]} if lost else {})
        row = of(found, "all")
        assert (row.high < 0.05) is (row.verdict is Verdict.SHIP)
        assert (row.low > 0.05) is (row.verdict is Verdict.REJECT)


def test_a_gate_that_has_shipped_stays_shipped_and_its_prompts_are_not_asked_any_more() -> None:
    ordered = items(800)
    margins = [Margin("facts", 0.05, gated=True), Margin("safety", 0.05, gated=True)]
    safety = [item.id for item in ordered if item.slice == "safety"]
    late_facts = [item.id for item in ordered[-300:] if item.slice == "facts"]
    found, parts = confirm(ordered, dict.fromkeys([*safety[:100:25], *late_facts], 0.0), margins)
    assert of(found, "facts").verdict is Verdict.SHIP
    assert of(found, "facts").counts.n == 120
    assert all(not set(part) & set(late_facts) for part in parts)
    assert found.looks.asked < found.looks.planned


def test_an_unscored_answer_of_the_candidate_counts_as_lost_for_a_ship() -> None:
    ordered = items(400)
    clean, _ = confirm(ordered, {})
    missing, _ = confirm(ordered, {item.id: None for item in ordered[:100:12]})
    assert clean.looks.looks_made == 1
    assert of(missing, "all").verdict is not Verdict.SHIP or missing.looks.looks_made > 1


def test_prompts_that_the_baseline_has_no_score_for_count_nowhere() -> None:
    ordered = items(400)
    baseline = {item.id: None if i % 2 else 1.0 for i, item in enumerate(ordered)}
    found, _ = confirm(ordered, {}, baseline=baseline)
    assert of(found, "all").counts.n == of(found, "all").counts.both_right
    assert of(found, "all").counts.not_scored > 0
    assert of(found, "all").verdict is Verdict.SHIP


def test_zero_tolerance_prompts_are_asked_first_and_a_loss_ends_it() -> None:
    ordered = items(400)
    strict = tuple(dataclasses.replace(item, zero_tolerance=item.id in {"i0003", "i0399"}) for item in ordered)
    clean, parts = confirm(strict, {})
    assert {"i0003", "i0399"} <= set(parts[0])
    assert of(clean, "zero tolerance").verdict is Verdict.SHIP
    found, parts = confirm(strict, {"i0399": 0.0})
    assert len(parts) == 1
    assert of(found, "zero tolerance").verdict is Verdict.REJECT
    assert "i0399 was lost" in found.looks.why


def test_graded_scores_decide_at_the_last_look_only() -> None:
    ordered = items(200)
    baseline = {item.id: 0.9 + 0.1 * (i % 2) for i, item in enumerate(ordered)}
    found, _ = confirm(ordered, dict(baseline), baseline=baseline)
    assert found.looks.looks_made == 5
    assert of(found, "all").verdict is Verdict.SHIP


def test_a_graded_gate_that_was_cut_short_says_so() -> None:
    ordered = items(400)
    baseline = {item.id: 0.9 if item.slice == "facts" else 1.0 for item in ordered}
    margins = [Margin("facts", 0.05, gated=True), Margin("safety", 0.05, gated=True)]
    lost = {item.id: 0.0 for item in ordered if item.slice == "safety"}
    found, _ = confirm(ordered, {**baseline, **lost}, margins, baseline)
    assert of(found, "safety").verdict is Verdict.REJECT
    assert of(found, "facts").verdict is Verdict.INVESTIGATE
    assert "graded scores decide at the last one" in of(found, "facts").reason


def test_several_rejected_gates_are_rejected_step_by_step_as_holm_does() -> None:
    ordered = items(300, ("a", "b", "c"))
    margins = [Margin(name, 0.05, gated=True) for name in ("a", "b", "c")]
    found, _ = confirm(ordered, {item.id: 0.0 for item in ordered if item.slice in "ab"}, margins)
    assert [of(found, name).verdict for name in ("a", "b")] == [Verdict.REJECT] * 2


def test_a_single_look_gives_what_the_fixed_test_gives() -> None:
    from paredown.decide import slices

    ordered = items(300)
    margins = [ALL, Margin("facts", 0.05, gated=False), Margin("safety", 0.05, gated=False)]
    scores = {item.id: 1.0 for item in ordered} | losing(ordered, 9)
    base = evaluation({item.id: 1.0 for item in ordered})
    fixed = slices.judge(base, evaluation(scores), ordered, margins, alpha=ALPHA, chance=lambda item: 0.25)
    found, _ = confirm(ordered, scores, margins, sizes=(300,))
    drop = lambda rows: [dataclasses.replace(row, more_prompts=None, reason="") for row in rows]  # noqa: E731
    assert drop(found.slices) == drop(fixed)


def test_the_order_has_about_the_same_share_of_each_slice_at_every_look_and_keeps_clusters_whole() -> None:
    made = [
        GoldenItem(
            f"i{i}", "rare" if i % 10 == 0 else "often", "choice", (), "0", cluster=f"c{i // 4}" if i < 40 else ""
        )
        for i in range(400)
    ]
    for seed in range(5):
        ordered = order.frozen(made, seed)
        for size in (120, 190, 260):
            assert abs(sum(item.slice == "rare" for item in ordered[:size]) - size / 10) <= 3
    ordered = order.frozen(made, seed=3)
    places = [i for i, item in enumerate(ordered) if item.cluster == "c3"]
    assert places == list(range(places[0], places[0] + 4))
    assert order.frozen(made[::-1], seed=3) == ordered
    assert order.frozen(made, seed=4) != ordered


def test_a_slice_without_prompts_cannot_ship() -> None:
    found, _ = confirm(items(200), {}, [ALL, Margin("code", 0.05, gated=True)])
    assert of(found, "code").verdict is Verdict.INVESTIGATE
    assert found.looks.looks_made == 5


@pytest.mark.parametrize("seed", range(3))
def test_the_same_scores_give_the_same_course(seed: int) -> None:
    ordered = items(200)
    candidate = {item.id: float((int(item.id[1:]) * 7 + seed) % 17 > 0) for item in ordered}
    first, second = confirm(ordered, candidate), confirm(ordered, candidate)
    assert first == second
    assert looks.walk is walk


def test_when_answer_lengths_still_need_prompts_all_that_are_due_are_asked_though_every_gate_has_shipped() -> None:
    ordered = items(200)
    margins = [Margin("facts", 0.08, gated=True), Margin("safety", 0.08, gated=True)]
    asked = Asked(ordered, sequential.look_sizes(200), tuple(margins), ALPHA, NEXT)
    everything = evaluation({item.id: 1.0 for item in ordered})
    at_once = walk(asked, everything, everything, lambda item: 0.25)
    longer = walk(asked, everything, everything, lambda item: 0.25, lambda given: len(given.scores) < 170)
    assert (at_once.looks.looks_made, longer.looks.looks_made) == (3, 5)
    assert (at_once.looks.asked, longer.looks.asked) == (130, 200)
    assert of(longer, "facts").counts.n == of(at_once, "facts").counts.n == 65


def test_a_slice_on_which_the_baseline_only_guesses_never_ships() -> None:
    ordered = items(200)
    baseline = {item.id: float(i % 4 == 0) for i, item in enumerate(ordered)}
    found, _ = confirm(ordered, dict(baseline), baseline=baseline)
    assert of(found, "all").verdict is Verdict.INVESTIGATE
    assert "guessing" in of(found, "all").reason


def test_prompts_that_share_a_document_stop_early_where_the_limits_over_documents_agree() -> None:
    ordered = order.frozen([dataclasses.replace(item, cluster=f"d{i // 4}") for i, item in enumerate(items(800))], 0)
    clean, _ = confirm(ordered, {})
    assert clean.looks.looks_made < clean.looks.looks_planned
    assert of(clean, "all").verdict is Verdict.SHIP
    assert of(clean, "all").high < 0.05


def test_losses_that_fall_on_whole_documents_take_more_prompts_to_ship_than_scattered_ones() -> None:
    together = order.frozen([dataclasses.replace(item, cluster=f"d{i // 4}") for i, item in enumerate(items(800))], 0)
    lost = {item.id: 0.0 for item in together[:4]}
    assert len({item.cluster for item in together[:4]}) == 1
    apart = tuple(dataclasses.replace(item, cluster="") for item in together)
    alone, _ = confirm(apart, lost)
    found, _ = confirm(together, lost)
    assert of(alone, "all").verdict is of(found, "all").verdict is Verdict.SHIP
    assert found.looks.asked > alone.looks.asked


def test_one_lost_document_of_a_few_rejects_nobody_however_many_prompts_it_has() -> None:
    made = order.frozen([dataclasses.replace(item, cluster=f"d{i // 100}") for i, item in enumerate(items(800))], 0)
    lost = {item.id: 0.0 for item in made if item.cluster == made[0].cluster}
    assert of(confirm(made, lost)[0], "all").verdict is Verdict.INVESTIGATE
    apart = tuple(dataclasses.replace(item, cluster="") for item in made)
    assert of(confirm(apart, lost)[0], "all").verdict is Verdict.REJECT
