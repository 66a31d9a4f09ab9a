"""The first divergent token: what each side would have written there, against distributions that are known exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from paredown.contracts import ScoringLevel
from paredown.evaluate import fidelity
from paredown.evaluate.fidelity import PlainText

PLAIN = [PlainText("p", "the quick brown fox jumps over the lazy dog", tokens=20)]


def test_both_tokens_of_the_first_divergence_are_kept_with_the_probabilities_of_both_sides(
    toy: Callable[..., Any],
) -> None:
    baseline, candidate = toy(), toy(noise=2.0)
    text, *_ = fidelity.baseline_texts(baseline, [], PLAIN, top_k=128, complete=baseline.complete)
    compared = fidelity.compare(candidate, [text], candidate="c", level=ScoringLevel.GIVEN_IDS).texts[0]
    found = compared.divergence
    assert found is not None
    assert found.index == compared.first_divergence
    before = text.token_ids[: text.start + found.index]
    p, q = baseline.logprobs(before), candidate.logprobs(before)
    assert (found.baseline_token, found.token) == (int(p.argmax()), int(q.argmax()))
    assert (found.baseline_logprob, found.logprob) == pytest.approx((p.max(), q.max()), abs=1e-5)
    assert found.candidate_of_baseline == pytest.approx(q[found.baseline_token], abs=1e-5)
    assert found.baseline_of_candidate == pytest.approx(p[found.token], abs=1e-5)


def test_a_token_outside_the_baselines_top_k_has_no_probability_there(toy: Callable[..., Any]) -> None:
    baseline, candidate = toy(), toy(noise=2.0)
    text, *_ = fidelity.baseline_texts(baseline, [], PLAIN, top_k=1, complete=baseline.complete)
    compared = fidelity.compare(candidate, [text], candidate="c", level=ScoringLevel.OWN_TOP_K).texts[0]
    assert compared.divergence is not None
    assert compared.divergence.baseline_of_candidate is None
    assert compared.divergence.candidate_of_baseline is None
