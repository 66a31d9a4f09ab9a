"""Measures read bandwidth and the float32 matrix rate with numpy's BLAS. A process of its own; JSON in, JSON out.

Each thread owns its part of the working set and runs a single-threaded BLAS call over it again and again (BLAS
releases the interpreter's lock). Several ways of reading every byte once are tried, because none is the fastest on
every processor: one stream, two streams, and the rows of a matrix as a product with a vector reads them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

SECONDS_PER_READING = 0.15
SECONDS_PER_RATE = 0.7
SECONDS_PER_ROUND = 10e-3
FAST = 100e9
MATRIX_SIZE = 1536
COLUMNS = 1024

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
    # Long rounds, so that starting and joining the threads is not what is measured.
    repeats = max(1, round(SECONDS_PER_ROUND * FAST / size_bytes))
    moved = sum(vector.nbytes for vector in vectors) * repeats
    return max(
        moved / _best_round_s(pool, _repeated(read, repeats), vectors, SECONDS_PER_READING)
        for read in (read_one_stream, read_two_streams, read_rows)
    )


def read_one_stream(vector: Array) -> None:
    """The dot product of a vector with itself reads every byte once."""
    np.dot(vector, vector)


def read_two_streams(vector: Array) -> None:
    """Both halves at a time."""
    half = len(vector) // 2
    np.dot(vector[:half], vector[half : 2 * half])


def read_rows(vector: Array) -> None:
    """As a decoding step reads a weight matrix."""
    rows = len(vector) // COLUMNS
    np.matmul(np.ones(rows, dtype=np.float32), vector[: rows * COLUMNS].reshape(rows, COLUMNS))


def matrix_rate(threads: int, pool: ThreadPoolExecutor) -> float:
    """Operations per second of float32 products, one on each thread at the same time."""
    factors = [np.ones((MATRIX_SIZE, MATRIX_SIZE), dtype=np.float32) for _ in range(threads)]

    def multiply(factor: Array) -> None:
        np.matmul(factor, factor)

    operations = threads * 2 * MATRIX_SIZE**3
    return operations / _best_round_s(pool, multiply, factors, SECONDS_PER_RATE)


def _repeated(work: Callable[[Array], None], times: int) -> Callable[[Array], None]:
    def again_and_again(part: Array) -> None:
        for _ in range(times):
            work(part)

    return again_and_again


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
