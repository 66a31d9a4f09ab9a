"""KL and agreement against distributions that are known exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paredown.contracts import ScoringLevel
from paredown.errors import EngineDied, EngineError
from paredown.evaluate import fidelity
from paredown.evaluate.fidelity import PlainText, divergence
from paredown.records.golden import Fidelity, FidelityText, GoldenItem
from paredown.records.traffic import Message

Make = Callable[..., Any]
VOCABULARY = 128
PROMPTS = [GoldenItem(name, "s", "exact_match", (Message("user", name),), "x") for name in ("one", "two")]
PLAIN = [PlainText("p", "the quick brown fox jumps over the lazy dog", tokens=20)]


def all_texts(engine: Any, top_k: int, **more: Any) -> tuple[FidelityText, ...]:
    return fidelity.baseline_texts(engine, PROMPTS, PLAIN, max_tokens=10, top_k=top_k, complete=engine.complete, **more)


def texts(engine: Any, top_k: int) -> tuple[FidelityText, ...]:
    return tuple(text for text in all_texts(engine, top_k) if not text.truncation)


def compare(engine: Any, on: tuple[FidelityText, ...], level: ScoringLevel = ScoringLevel.GIVEN_IDS) -> Fidelity:
    return fidelity.compare(engine, on, candidate="c", level=level)


def exact_kl(baseline: Any, candidate: Any, text: FidelityText) -> list[float]:
    found = []
    for place in range(text.start, len(text.token_ids)):
        p, q = (engine.logprobs(text.token_ids[:place]) for engine in (baseline, candidate))
        found.append(float((np.exp(p) * (p - q)).sum()))
    return found


def test_texts_are_the_baselines_own_answers_and_the_plain_texts(toy: Make) -> None:
    engine = toy()
    one, _, plain = texts(engine, 4)
    assert one.token_ids[: one.start] == engine.render(PROMPTS[0].messages)
    assert len(one.token_ids) == one.start + 10
    assert plain.slice == "plain"
    assert len(plain.token_ids) == 21
    assert {len(row) for text in (one, plain) for row in text.top_ids} == {4}


def test_the_model_against_itself_has_no_divergence(toy: Make) -> None:
    found = compare(toy(), texts(toy(), 16))
    assert (found.mean_kl, found.max_kl, found.top1_agreement, found.positions) == (0.0, 0.0, 1.0, 40)
    assert all(text.first_divergence is None for text in found.texts)


def test_with_the_whole_vocabulary_the_bound_is_the_exact_divergence(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=0.5)
    on = texts(baseline, VOCABULARY)
    found = compare(candidate, on)
    exact = [value for text in on for value in exact_kl(baseline, candidate, text)]
    assert [value for text in found.texts for value in text.kl] == pytest.approx(exact, abs=1e-5)
    assert found.mean_kl == pytest.approx(np.mean(exact), abs=1e-5)
    assert found.p99_kl == pytest.approx(np.quantile(exact, 0.99), abs=1e-5)
    assert found.max_kl == pytest.approx(max(exact), abs=1e-5)


def test_with_fewer_ids_it_is_a_lower_bound_that_grows_with_them(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=0.5)
    means = [compare(candidate, texts(baseline, k)).mean_kl for k in (1, 4, 32, VOCABULARY)]
    assert means == sorted(means)
    assert means[0] > 0


def test_agreement_and_first_divergence_are_of_the_greedy_tokens(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=2.0)
    on = texts(baseline, 8)
    found = compare(candidate, on)
    by_hand = [
        [
            int(baseline.logprobs(text.token_ids[:n]).argmax()) == int(candidate.logprobs(text.token_ids[:n]).argmax())
            for n in range(text.start, len(text.token_ids))
        ]
        for text in on
    ]
    assert [list(text.same_top1) for text in found.texts] == by_hand
    assert [text.first_divergence for text in found.texts] == [row.index(False) for row in by_hand]
    assert found.top1_agreement == sum(map(sum, by_hand)) / 40


def test_of_tokens_that_are_equally_likely_either_agrees() -> None:
    assert divergence.is_top1(7, (3, 7, 9), (-1.0, -1.0, -2.0))
    assert not divergence.is_top1(9, (3, 7, 9), (-1.0, -1.0, -2.0))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.0, 20.0), st.integers(1, 30))
def test_both_bounds_are_never_negative_nor_above_the_exact_values(seed: int, scale: float, k: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = (row - math.log(np.exp(row).sum()) for row in rng.normal(size=(2, 30)) * scale)
    ids = np.argsort(-p)[:k]
    found = divergence.bounds(p[ids].tolist(), q[ids].tolist())
    assert 0.0 <= found.kl <= float((np.exp(p) * (p - q)).sum()) + 1e-4
    assert 0.0 <= found.reverse <= float((np.exp(q) * (q - p)).sum()) + 1e-4


def test_with_every_id_both_bounds_are_the_exact_divergences() -> None:
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    found = divergence.bounds(np.log(p).tolist(), np.log(q).tolist())
    assert found.kl == pytest.approx(float((p * np.log(p / q)).sum()))
    assert found.reverse == pytest.approx(float((q * np.log(q / p)).sum()))


def test_with_one_id_the_rest_is_one_more_outcome_in_both_directions() -> None:
    found = divergence.bounds([math.log(0.7)], [math.log(0.2)])
    assert found.kl == pytest.approx(0.7 * math.log(0.7 / 0.2) + 0.3 * math.log(0.3 / 0.8))
    assert found.reverse == pytest.approx(0.2 * math.log(0.2 / 0.7) + 0.8 * math.log(0.8 / 0.3))


def test_below_given_ids_only_the_agreement_is_measured(toy: Make) -> None:
    found = compare(toy(noise=1.0), texts(toy(), 8), ScoringLevel.OWN_TOP_K)
    assert found.mean_kl is None
    assert found.top1_agreement is not None
    assert "GIVEN_IDS" in found.missing


def test_with_the_texts_own_tokens_only_perplexity_is_measured_and_the_rest_is_missing(toy: Make) -> None:
    found = compare(toy(noise=0.5), texts(toy(), 8), ScoringLevel.TARGET_ONLY)
    assert (found.mean_kl, found.top1_agreement, found.topk_agreement, found.positions) == (None, None, None, 40)
    assert found.log_perplexity_difference == compare(toy(noise=0.5), texts(toy(), 8)).log_perplexity_difference
    assert "TARGET_ONLY" in found.missing


def test_without_log_probabilities_nothing_is_measured_and_the_reason_is_given(toy: Make) -> None:
    found = compare(toy(), texts(toy(), 8), ScoringLevel.NONE)
    assert (found.mean_kl, found.log_perplexity_difference, found.positions) == (None, None, 0)
    assert "NONE" in found.missing


def test_the_change_of_each_token_is_what_the_two_models_give_it(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=0.5)
    on = texts(baseline, 4)
    for text, found in zip(on, compare(candidate, on).texts, strict=True):
        by_hand = [
            candidate.logprobs(text.token_ids[:n])[text.token_ids[n]]
            - baseline.logprobs(text.token_ids[:n])[text.token_ids[n]]
            for n in range(text.start, len(text.token_ids))
        ]
        assert list(found.logprob_change) == pytest.approx(by_hand)


def test_the_reverse_divergence_is_exact_with_the_whole_vocabulary(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=0.5)
    on = texts(baseline, VOCABULARY)
    (first, *_) = compare(candidate, on).texts
    p, q = (engine.logprobs(on[0].token_ids[: on[0].start]) for engine in (baseline, candidate))
    assert first.reverse_kl[0] == pytest.approx(float((np.exp(q) * (q - p)).sum()), abs=1e-5)


def test_top_k_agreement_is_the_share_of_the_ten_likeliest_tokens_that_stay(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=1.0)
    on = texts(baseline, 32)
    found = compare(candidate, on)
    tops = [
        [set(np.argsort(-engine.logprobs(on[0].token_ids[: on[0].start]))[:10]) for engine in (baseline, candidate)]
    ]
    assert found.texts[0].topk_overlap[0] == len(tops[0][0] & tops[0][1]) / 10
    assert found.agreement_k == 10
    assert 0.0 < (found.topk_agreement or 0.0) < 1.0


def test_what_the_bound_misses_is_estimated_with_all_of_a_small_vocabulary(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=1.0)
    on = all_texts(baseline, 4)
    found = compare(candidate, on).truncation
    assert found is not None
    assert (found.top_k, found.wide_k, found.positions) == (4, VOCABULARY, 12)
    wide = [text for text in on if text.truncation]
    exact = [value for text in wide for value in exact_kl(baseline, candidate, text)]
    bound = [
        divergence.bounds(baseline.logprobs(prefix)[top], candidate.logprobs(prefix)[top]).kl
        for text in wide
        for prefix in (text.token_ids[:n] for n in range(text.start, len(text.token_ids)))
        for top in [np.argsort(-baseline.logprobs(prefix))[:4]]
    ]
    assert found.missed == pytest.approx(np.mean(exact) - np.mean(bound), abs=1e-4)
    assert found.missed > 0.01


def test_positions_looked_at_for_the_truncation_error_are_in_no_other_figure(toy: Make) -> None:
    baseline, candidate = toy(), toy(noise=1.0)
    with_wide, without = compare(candidate, all_texts(baseline, 4)), compare(candidate, texts(baseline, 4))
    assert (with_wide.mean_kl, with_wide.positions, with_wide.parts) == (
        without.mean_kl, without.positions, without.parts,
    )  # fmt: skip
    assert without.truncation is None


def test_texts_beyond_the_candidates_context_are_left_out_and_counted(toy: Make) -> None:
    on = all_texts(toy(), 4)
    longest = max(len(text.token_ids) for text in on)
    found = compare(toy(context_length=longest - 1), on)
    assert len(found.texts) == 1
    assert found.missing == f"left out: 2 of 3 texts are longer than the candidate's context of {longest - 1:,}"


def test_the_noise_floor_is_asked_in_other_batches_than_the_candidates_figure(toy: Make) -> None:
    engine = toy()
    on = all_texts(engine, 8)
    engine.asked.clear()
    floor = fidelity.noise_floor(engine, on)
    alone = [requests[0].token_ids for requests in engine.asked]
    assert [len(requests) for requests in engine.asked] == [1, 1, 1]
    assert alone == sorted(alone, reverse=True)
    assert floor is not None
    assert (floor.mean_kl, floor.top1_agreement, floor.positions) == (0.0, 1.0, 40)
    assert compare(engine, on).floor is None
    assert fidelity.compare(engine, on, candidate="c", level=ScoringLevel.FULL, floor=floor).within_floor


def test_log_probabilities_that_are_no_numbers_fail_the_candidate(toy: Make) -> None:
    with pytest.raises(EngineError, match="no finite numbers at 1 of 10 positions"):
        compare(toy(nan_at=3), texts(toy(), 8))


def test_a_baseline_that_answers_nothing_is_an_error(toy: Make) -> None:
    with pytest.raises(EngineError, match="answered none"):
        texts(toy(failing={"one": "status_500", "two": "status_500"}), 8)
    with pytest.raises(EngineDied):
        texts(toy(failing={"one": "disconnected"}, dead=True), 8)


def test_prompts_are_chosen_from_every_slice_in_turn() -> None:
    items = [
        GoldenItem(f"{name}{n}", name, "exact_match", (Message("user", "x" * n),), "x", cluster="doc" if n > 3 else "")
        for name, count in (("a", 9), ("b", 2), ("c", 1))
        for n in range(count)
    ]
    chosen = fidelity.choose_prompts(items, 6)
    assert [item.id for item in chosen] == ["a0", "b0", "c0", "a1", "b1", "a2"]
    assert fidelity.choose_prompts(items[::-1], 6) == chosen
    assert len([item for item in fidelity.choose_prompts(items, 99) if item.cluster]) == 1


def test_the_plain_texts_that_ship_are_long_enough_and_of_several_scripts() -> None:
    shipped = fidelity.plain_texts()
    assert len(shipped) >= 8
    assert all(len(text.text) >= 400 for text in shipped)
    assert sum(len(text.text.split()) for text in shipped) > 2000
    assert any("一" in text.text for text in shipped)
