"""Log-probabilities from rows of logits, against a plain computation over several blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest

from paredown.contracts import ScoreRequest
from paredown.hosts.logit_rows import ROWS_AT_ONCE, ScoreRows, common_prefix

VOCABULARY = 50
LENGTH = 2 * ROWS_AT_ONCE + 7


def reference(logits: np.ndarray) -> np.ndarray:
    wide = logits.astype(np.float64)
    return wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))


def random_case() -> tuple[np.ndarray, tuple[int, ...]]:
    generator = np.random.default_rng(7)
    logits = generator.normal(0, 4, (LENGTH, VOCABULARY)).astype(np.float32)
    return logits, tuple(int(i) for i in generator.integers(0, VOCABULARY, LENGTH + 1))


def test_pieces_give_what_a_plain_log_softmax_gives() -> None:
    logits, tokens = random_case()
    at = tuple((i % VOCABULARY, 3) for i in range(LENGTH))
    rows = ScoreRows(ScoreRequest(tokens, 1, top_k=4, at_ids=at))
    for first in (0, 1, ROWS_AT_ONCE + 5):
        last = {0: 1, 1: ROWS_AT_ONCE + 5}.get(first, LENGTH)
        rows.take(logits[first:last])
    result, expected = rows.result(), reference(logits)
    assert result.target_logprobs == pytest.approx([expected[i, tokens[i + 1]] for i in range(LENGTH)], abs=1e-5)
    assert result.top_ids == tuple(tuple(int(t) for t in np.argsort(-row, kind="stable")[:4]) for row in logits)
    assert np.array(result.top_logprobs) == pytest.approx(np.sort(expected, axis=-1)[:, ::-1][:, :4], abs=1e-5)
    assert np.array(result.at_logprobs) == pytest.approx(
        np.array([[expected[i, j] for j in ids] for i, ids in enumerate(at)]), abs=1e-5
    )


def test_of_equal_logits_the_lowest_id_comes_first() -> None:
    rows = ScoreRows(ScoreRequest((0, 1), 1, top_k=3))
    rows.take(np.array([[1.0, 5.0, 5.0, 5.0]], np.float32))
    assert rows.result().top_ids == ((1, 2, 3),)


def test_large_logits_do_not_overflow() -> None:
    rows = ScoreRows(ScoreRequest((0, 1), 1))
    rows.take(np.array([[1000.0, 1000.0]], np.float32))
    assert rows.result().target_logprobs == pytest.approx((-np.log(2),))


@pytest.mark.parametrize(("one", "other", "length"), [((), (1,), 0), ((1, 2), (1, 2, 3), 2), ((1, 2, 9), (1, 3, 9), 1)])
def test_the_common_prefix_ends_at_the_first_difference(
    one: tuple[int, ...], other: tuple[int, ...], length: int
) -> None:
    assert common_prefix(one, other) == length
