"""What this machine can do at most: read bandwidth by working-set size, matrix rate by data type. Measured.

The measuring runs in processes of its own, so that the number of threads is set before any library starts its own
and nothing of a library stays in this process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

from paredown.machine.cpu import usable_cores
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate

MB = 1 << 20
WORKING_SETS = (16 * MB, 32 * MB, 64 * MB, 128 * MB, 256 * MB, 512 * MB)
LARGEST_SHARE_OF_MEMORY = 4
TIMEOUT_S = 60.0
TORCH_TYPES = ("bfloat16", "int8")


def measure(*, threads: int | None = None, working_sets: Sequence[int] = WORKING_SETS) -> Ceilings:
    """About ten seconds on an idle machine. What could not be measured is in `missing` with its reason.

    threads: default every core that this process may use
    """
    threads = threads or usable_cores()
    available = psutil.virtual_memory().available
    sets = [size for size in working_sets if size * LARGEST_SHARE_OF_MEMORY <= available]
    missing = {f"bandwidth at {size // MB} MiB": "too little free memory" for size in working_sets if size not in sets}
    with_numpy = _worker("paredown.profile.worker_numpy", {"threads": threads, "working_sets": sets})
    if importlib.util.find_spec("torch") is None:
        with_torch: Mapping[str, Any] = {"failed": "torch is not installed"}
    else:
        with_torch = _worker("paredown.profile.worker_torch", {"threads": threads, "dtypes": list(TORCH_TYPES)})
    rates = {**with_numpy.get("matrix", {}), **with_torch.get("matrix", {})}
    for answer, names in ((with_numpy, ("bandwidth", "float32")), (with_torch, TORCH_TYPES)):
        missing.update(answer.get("missing", {}))
        if "failed" in answer:
            missing.update(dict.fromkeys(names, str(answer["failed"])))
    return Ceilings(
        bandwidth=tuple(Bandwidth(int(size), rate) for size, rate in with_numpy.get("bandwidth", {}).items()),
        matrix=tuple(MatrixRate(dtype, rate) for dtype, rate in rates.items()),
        missing=missing,
    )


def _worker(module: str, request: Mapping[str, object]) -> Mapping[str, Any]:
    """What the worker wrote as JSON, or `{"failed": why}`."""
    # Bandwidth is read by our threads, each of which must stay one; the matrix product uses all of them.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if module.endswith("torch"):
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
            environment[name] = str(request["threads"])
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, json.dumps(request)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not measured within {TIMEOUT_S:g} s"}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"failed": f"the measuring process ended with {done.returncode}: {last[:300]}"}
    assert isinstance(answer, dict)
    return answer
