"""Where prefill and decode stand on the roofline."""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
