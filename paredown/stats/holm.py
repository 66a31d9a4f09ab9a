"""Holm's step-down correction (Scandinavian Journal of Statistics 1979, 6:65-70)."""

from __future__ import annotations

from collections.abc import Sequence


def adjust(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in the order given; those ≤ α are rejected with a family-wise error of at most α."""
    count = len(p_values)
    adjusted = [1.0] * count
    largest = 0.0
    for rank, index in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = largest
    return tuple(adjusted)
