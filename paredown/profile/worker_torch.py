"""Measures matrix rates with torch, and on a GPU its read bandwidth. A process of its own; JSON in, JSON out.

Every product that torch has for a type is tried: the plain one, and the one with weights packed beforehand, which is
what an engine for the CPU uses (in float32 it reached 2.3 times the plain one's rate where both were tried).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

PASSES = 2
"""Over all types: what disturbs one of them for a moment is gone when it is tried again."""

SECONDS_PER_PRODUCT = 0.12
SECONDS_PER_SET = 0.1
SLOW_S = 0.1
MATRIX_SIZES = (512, 1024, 2048)
DEVICE_MATRIX_SIZES = (2048, 4096, 8192)


def main(argument: str) -> str:
    """request: `{"threads", "dtypes"}`, for a GPU also `{"device", "working_sets"}` →
    `{"matrix": {dtype: op/s}, "bandwidth": {bytes: B/s}, "missing": {what: why}}`.
    """
    import torch

    request = json.loads(argument)
    device = request.get("device", "cpu")
    torch.set_num_threads(int(request["threads"]))
    rates: dict[str, float] = {}
    missing: dict[str, str] = {}
    for dtype in PASSES * tuple(request["dtypes"]):
        try:
            rates[dtype] = max(rates.get(dtype, 0.0), matrix_rate(torch, dtype, device))
        except RuntimeError as error:
            missing[dtype] = f"torch has no product for it here: {str(error).splitlines()[0][:200]}"
    bandwidth: dict[str, float] = {}
    for size in request.get("working_sets", ()):
        try:
            bandwidth[str(size)] = read_bandwidth(torch, size, device)
        except RuntimeError as error:
            missing[f"bandwidth at {size >> 20} MiB"] = str(error).splitlines()[0][:200]
    return json.dumps({"matrix": rates, "bandwidth": bandwidth, "missing": missing})


def matrix_rate(torch: Any, dtype: str, device: str) -> float:
    """Operations per second of a square product: the best size, the best kernel and the best round."""
    best = 0.0
    for size in MATRIX_SIZES if device == "cpu" else DEVICE_MATRIX_SIZES:
        factor = torch.ones((size, size), dtype=getattr(torch, dtype), device=device)
        rounds = [_best_round_s(torch, work, device, SECONDS_PER_PRODUCT) for work in products(torch, factor)]
        best = max(best, 2 * size**3 / min(rounds))
        if min(rounds) > SLOW_S:
            break  # a type without hardware: a larger product would take a minute
    return best


def products(torch: Any, factor: Any) -> Sequence[Callable[[], object]]:
    """Every way to multiply the square matrix `factor` with itself."""
    if factor.dtype == torch.int8:
        return (lambda: torch._int_mm(factor, factor),)
    plain = (lambda: torch.matmul(factor, factor),)
    if factor.device.type != "cpu":
        return plain
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(factor, None)
        multiply = torch.ops.mkldnn._linear_pointwise
        multiply(factor, packed, None, "none", [], "")
    except (AttributeError, RuntimeError):  # a build without it, or a type that it does not take
        return plain
    return *plain, lambda: multiply(factor, packed, None, "none", [], "")


def read_bandwidth(torch: Any, size_bytes: int, device: str) -> float:
    """Bytes per second: a sum reads every byte, a copy reads half of them and writes the other half."""
    values = torch.ones(size_bytes // 4, dtype=torch.float32, device=device)
    half = len(values) // 2
    ways = (values.sum, lambda: values[:half].copy_(values[half : 2 * half]))
    return float(size_bytes / min(_best_round_s(torch, work, device, SECONDS_PER_SET) for work in ways))


def _best_round_s(torch: Any, work: Callable[[], object], device: str, seconds: float) -> float:
    """Seconds of one call. On a GPU calls are queued, many to a round, so that their launch is not what is measured."""
    in_a_round = 1 if device == "cpu" else 20
    work()
    best = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        _wait(torch, device)
        begun = time.perf_counter()
        for _ in range(in_a_round):
            work()
        _wait(torch, device)
        best = min(best, (time.perf_counter() - begun) / in_a_round)
    return best


def _wait(torch: Any, device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1]))
