"""Measures read bandwidth and the float32 matrix rate with numpy's BLAS. A process of its own; JSON in, JSON out.

Each thread owns its part of the working set and runs a single-threaded BLAS call over it again and again (BLAS
releases the interpreter's lock): the dot product of a vector with itself reads every byte once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

SECONDS_PER_SET = 0.4
SECONDS_PER_RATE = 0.7
MATRIX_SIZE = 1536

Array = NDArray[np.float32]


def main(argument: str) -> str:
    """request: `{"threads", "working_sets"}` → `{"bandwidth": {bytes: B/s}, "matrix": {"float32": op/s}}`."""
    request = json.loads(argument)
    threads = int(request["threads"])
    with ThreadPoolExecutor(threads) as pool:
        bandwidth = {str(size): read_bandwidth(size, threads, pool) for size in request["working_sets"]}
        rate = matrix_rate(threads, pool)
    return json.dumps({"bandwidth": bandwidth, "matrix": {"float32": rate}})


def read_bandwidth(size_bytes: int, threads: int, pool: ThreadPoolExecutor) -> float:
    """Bytes per second, all threads together: the best of the rounds, because a ceiling is what can be reached."""
    vectors = [np.ones(size_bytes // threads // 4, dtype=np.float32) for _ in range(threads)]
    # Rounds of at least 10 ms, so that starting and joining the threads is not what is measured.
    repeats = max(1, round(10e-3 * 30e9 / size_bytes))

    def read(vector: Array) -> None:
        for _ in range(repeats):
            np.dot(vector, vector)

    moved = sum(vector.nbytes for vector in vectors) * repeats
    return moved / _best_round_s(pool, read, vectors, SECONDS_PER_SET)


def matrix_rate(threads: int, pool: ThreadPoolExecutor) -> float:
    """Operations per second of float32 products, one on each thread at the same time."""
    factors = [np.ones((MATRIX_SIZE, MATRIX_SIZE), dtype=np.float32) for _ in range(threads)]

    def multiply(factor: Array) -> None:
        np.matmul(factor, factor)

    operations = threads * 2 * MATRIX_SIZE**3
    return operations / _best_round_s(pool, multiply, factors, SECONDS_PER_RATE)


def _best_round_s(
    pool: ThreadPoolExecutor, work: Callable[[Array], None], parts: Sequence[Array], seconds: float
) -> float:
    list(pool.map(work, parts))
    best = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        list(pool.map(work, parts))
        best = min(best, time.perf_counter() - begun)
    return best


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1]))
