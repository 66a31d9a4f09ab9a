"""Rows of logits → the log-probabilities that a score request asks for. Numpy is imported where it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from paredown.contracts import ScoreRequest, ScoreResult

ROWS_AT_ONCE = 64


@dataclass
class ScoreRows:
    """Gathers the result of one request while its logits come in pieces, first position first."""

    request: ScoreRequest
    target: list[float] = field(default_factory=list)
    top_ids: list[tuple[int, ...]] = field(default_factory=list)
    top: list[tuple[float, ...]] = field(default_factory=list)
    at: list[tuple[float, ...]] = field(default_factory=list)

    def take(self, logits: Any) -> None:
        """Rows float32 [n, V] that predict the next n positions, from `start` on. Natural logarithms, in float64."""
        for first in range(0, len(logits), ROWS_AT_ONCE):
            self._take(logits[first : first + ROWS_AT_ONCE])

    def _take(self, logits: Any) -> None:
        import numpy as np

        request, done = self.request, len(self.target)
        peak = logits.max(axis=-1, keepdims=True)
        total = np.exp(logits - peak).sum(axis=-1, dtype=np.float64)
        normalizer = np.log(total) + peak[:, 0]
        rows = np.arange(len(logits))
        wanted = np.array(request.token_ids[request.start + done : request.start + done + len(logits)], np.int64)
        self.target += (logits[rows, wanted] - normalizer).tolist()
        if request.top_k:
            best = _largest(logits, request.top_k)
            self.top_ids += [tuple(row) for row in best.tolist()]
            self.top += [tuple(row) for row in (logits[rows[:, None], best] - normalizer[:, None]).tolist()]
        for row in range(len(logits) if request.at_ids else 0):
            ids = np.array(request.at_ids[done + row], np.int64)
            self.at.append(tuple((logits[row, ids] - normalizer[row]).tolist()))

    def result(self) -> ScoreResult:
        return ScoreResult(tuple(self.target), tuple(self.top_ids), tuple(self.top), tuple(self.at))


def _largest(logits: Any, count: int) -> Any:
    """Ids of the `count` largest of each row, largest first; of equal ones the lowest id first, as argmax takes it."""
    import numpy as np

    count = min(count, logits.shape[-1])
    if count == 1:
        return logits.argmax(axis=-1)[:, None]
    some = np.argpartition(logits, logits.shape[-1] - count, axis=-1)[:, -count:]
    values = np.take_along_axis(logits, some, axis=-1)
    order = np.lexsort((some, -values), axis=-1)
    return np.take_along_axis(some, order, axis=-1)


def common_prefix(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many leading tokens two sequences share."""
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length
