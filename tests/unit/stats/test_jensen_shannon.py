"""The divergence of two mixtures: closed forms, and a floor that sampling alone reaches."""

from __future__ import annotations

import numpy as np
import pytest

from paredown.stats import jensen_shannon as js


def counts(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_nothing_in_common_is_one_bit_and_the_same_shares_are_zero() -> None:
    assert js.jensen_shannon(counts(3, 0), counts(0, 5)) == pytest.approx(1.0)
    assert js.jensen_shannon(counts(1, 2), counts(10, 20)) == pytest.approx(0.0)


def test_a_closed_form() -> None:
    # Middle (3/4, 1/4): ½[log2 4/3] + ½[½ log2 (½ / ¾) + ½ log2 (½ / ¼)].
    expected = 0.5 * np.log2(4 / 3) + 0.5 * (0.5 * np.log2(2 / 3) + 0.5)
    assert js.jensen_shannon(counts(7, 0), counts(2, 2)) == pytest.approx(expected)
    assert js.jensen_shannon(counts(2, 2), counts(7, 0)) == pytest.approx(expected)


def test_samples_of_one_source_do_not_leave_the_floor_and_another_source_does() -> None:
    draw = np.random.default_rng(5)
    shares, others = draw.dirichlet(np.ones(300)), draw.dirichlet(np.ones(300))
    reference = [draw.choice(300, 40, p=shares) for _ in range(60)]
    same = js.compare([draw.choice(300, 40, p=shares) for _ in range(30)], reference, seed=1)
    other = js.compare([draw.choice(300, 40, p=others) for _ in range(30)], reference, seed=1)
    assert same.value <= same.floor
    assert other.value > 1.3 * other.floor
    assert same.floor > 0.0
    assert same.things == 1200


def test_the_same_seed_gives_the_same_figures() -> None:
    draw = np.random.default_rng(0)
    texts = [draw.integers(0, 50, 30) for _ in range(20)]
    assert js.compare(texts[:5], texts[5:], seed=3) == js.compare(texts[:5], texts[5:], seed=3)


@pytest.mark.parametrize(("texts", "reference"), [([], [[1], [2]]), ([[1]], [[1]]), ([[1]], [[1], []])])
def test_too_little_to_compare_is_refused(texts: list[list[int]], reference: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="reference of two"):
        js.compare(
            [np.array(one, dtype=np.int64) for one in texts], [np.array(one, dtype=np.int64) for one in reference], 0
        )
    with pytest.raises(ValueError, match="no divergence of nothing"):
        js.jensen_shannon(counts(0, 0), counts(1, 0))
