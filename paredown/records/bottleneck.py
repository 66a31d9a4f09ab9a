"""Where prefill and decode stand on the roofline."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from paredown.records.candidate import Rung


class Bound(enum.StrEnum):
    MEMORY = "memory-bound"
    COMPUTE = "compute-bound"
    OVERHEAD = "overhead-bound"


@dataclass(frozen=True)
class Placement:
    """One phase of one candidate on the roofline.

    phase:  `prefill` or `decode`
    bytes_moved, operations: per step (a decoded token, or the whole prompt)
    memory_floor_s, compute_floor_s: bytes/bandwidth and operations/rate
    fraction: the larger floor ÷ measured time (1 = at the ceiling)
    samples:  steps of which `measured_s` is the median; 0 = not counted
    low_s, high_s: first and third quartile of them
    compute_dtype: data type of the arithmetic that `compute_floor_s` is for
    """

    candidate: str
    phase: str
    batch: int
    tokens: int
    measured_s: float
    bytes_moved: int
    operations: int
    memory_floor_s: float
    compute_floor_s: float
    fraction: float
    bound: Bound
    sentence: str
    samples: int = 0
    low_s: float | None = None
    high_s: float | None = None
    compute_dtype: str = ""

    @property
    def floor_s(self) -> float:
        """The larger of the two floors: no execution of this step takes less."""
        return max(self.memory_floor_s, self.compute_floor_s)


@dataclass(frozen=True)
class Bottleneck:
    """What limits a model on a machine, and the rung of the ladder that addresses it; None = no rung does."""

    sentence: str
    rung: Rung | None
