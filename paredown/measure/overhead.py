"""What HTTP and the client cost, from the engine's own stamps beside the arrival of its chunks."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.records.events import ChunkEvent, RequestEvents, Trial
from paredown.records.timing import succeeded, tokens_per_chunk, tpot_s


@dataclass(frozen=True)
class ServingOverhead:
    """Medians over requests; times in seconds.

    engine_tpot_s:  time per token by the engine's stamps
    served_tpot_s:  time per token as it arrived
    delivery_s:     from the engine's stamp to the arrival of a chunk (median and p99 over chunks)
    engine_tpot_s includes what the engine loses to the server beside it: compare with a run in process for that.
    """

    engine_tpot_s: float
    served_tpot_s: float
    delivery_p50_s: float
    delivery_p99_s: float
    requests: int
    chunks: int

    @property
    def kept_speed(self) -> float:
        """Share of the engine's own decode speed that the client sees."""
        return self.engine_tpot_s / self.served_tpot_s


def serving_overhead(trial: Trial) -> ServingOverhead | None:
    """None where the server stamps no chunks, or no answer has a time per token."""
    engine: list[float] = []
    served: list[float] = []
    delivery: list[float] = []
    for request in succeeded(trial.requests()):
        engine_s, served_s = engine_tpot_s(request), tpot_s(request)
        if engine_s is None or served_s is None:
            continue
        engine.append(engine_s)
        served.append(served_s)
        delivery += [(c.arrived_ns - c.engine_ns) / 1e9 for c in request.chunks if c.engine_ns is not None]
    if not engine:
        return None
    delivery.sort()
    return ServingOverhead(
        engine_tpot_s=statistics.median(engine),
        served_tpot_s=statistics.median(served),
        delivery_p50_s=statistics.median(delivery),
        delivery_p99_s=delivery[min(len(delivery) - 1, round(0.99 * len(delivery)))],
        requests=len(engine),
        chunks=len(delivery),
    )


def engine_tpot_s(request: RequestEvents) -> float | None:
    """(e_k − e_1)/(n − m_1) by the engine's stamps; None where a stamp is missing or n = m_1."""
    stamps = _stamps(request.chunks)
    after_first = request.output_tokens - tokens_per_chunk(request)[0] if request.chunks else 0
    if stamps is None or len(stamps) < 2 or after_first <= 0:
        return None
    return (stamps[-1] - stamps[0]) / after_first / 1e9


def _stamps(chunks: Sequence[ChunkEvent]) -> list[int] | None:
    stamps = [chunk.engine_ns for chunk in chunks if chunk.engine_ns is not None]
    return stamps if len(stamps) == len(chunks) else None
