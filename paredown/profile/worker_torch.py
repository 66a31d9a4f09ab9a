"""Measures matrix rates of the narrow data types with torch. A process of its own; JSON in, JSON out."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

SECONDS_PER_RATE = 0.7
MATRIX_SIZE = 1536


def main(argument: str) -> str:
    """request: `{"threads", "dtypes"}` → `{"matrix": {dtype: op/s}, "missing": {dtype: why}}`."""
    import torch

    request = json.loads(argument)
    torch.set_num_threads(int(request["threads"]))
    rates: dict[str, float] = {}
    missing: dict[str, str] = {}
    for dtype in request["dtypes"]:
        try:
            rates[dtype] = _rate(torch, dtype)
        except RuntimeError as error:
            missing[dtype] = f"torch has no product for it here: {str(error).splitlines()[0][:200]}"
    return json.dumps({"matrix": rates, "missing": missing})


def _rate(torch: Any, dtype: str) -> float:
    """Operations per second of a square product: the best of the rounds."""
    if dtype == "int8":
        factor = torch.ones((MATRIX_SIZE, MATRIX_SIZE), dtype=torch.int8)
        multiply = torch._int_mm
    else:
        factor = torch.ones((MATRIX_SIZE, MATRIX_SIZE), dtype=getattr(torch, dtype))
        multiply = torch.matmul
    multiply(factor, factor)
    best = float("inf")
    end = time.perf_counter() + SECONDS_PER_RATE
    while time.perf_counter() < end:
        begun = time.perf_counter()
        multiply(factor, factor)
        best = min(best, time.perf_counter() - begun)
    return float(2 * MATRIX_SIZE**3 / best)


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1]))
