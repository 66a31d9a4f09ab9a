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
from pathlib import Path
from typing import Any

import psutil

from paredown.machine.cpu import usable_cores
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate

MB = 1 << 20
WORKING_SETS = tuple(size * MB for size in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024))
DEVICE_WORKING_SETS = tuple(size * MB for size in (4, 16, 64, 256, 1024, 4096))
LARGEST_SHARE_OF_MEMORY = 4
TIMEOUT_S = 120.0
TORCH_TYPES = ("float32", "bfloat16", "float16", "int8")


def measure(*, threads: int | None = None, working_sets: Sequence[int] = WORKING_SETS) -> Ceilings:
    """About fifteen seconds on an idle machine. What could not be measured is in `missing` with its reason.

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
    return _put_together((with_numpy, ("bandwidth", "float32")), (with_torch, TORCH_TYPES), missing=missing)


def measure_device(device: str, *, python: Path | None = None) -> Ceilings:
    """The ceilings of a GPU, as torch reaches them there.

    device: as torch names it (`cuda`, `cuda:1`); python: of an environment whose torch knows it, default this one
    """
    request = {"threads": 1, "dtypes": list(TORCH_TYPES), "device": device, "working_sets": list(DEVICE_WORKING_SETS)}
    answer = _worker("paredown.profile.worker_torch", request, python)
    return _put_together((answer, ("bandwidth", *TORCH_TYPES)), missing={})


def best_of(one: Ceilings, other: Ceilings) -> Ceilings:
    """Two measurements of the same machine: of each figure the higher one, because a ceiling is what can be reached."""
    bandwidth, rates = _by_size(one), _by_type(one)
    for size, rate in _by_size(other).items():
        bandwidth[size] = max(rate, bandwidth.get(size, rate))
    for dtype, rate in _by_type(other).items():
        rates[dtype] = max(rate, rates.get(dtype, rate))
    found = {"bandwidth", *rates} if bandwidth else set(rates)
    found |= {f"bandwidth at {size // MB} MiB" for size in bandwidth}
    missing = {**one.missing, **other.missing}
    return _ceilings(bandwidth, rates, {what: why for what, why in missing.items() if what not in found})


def _put_together(*answers: tuple[Mapping[str, Any], Sequence[str]], missing: Mapping[str, str]) -> Ceilings:
    """Ceilings from what the workers said; each comes with the names of what it was to measure."""
    bandwidth: dict[int, float] = {}
    rates: dict[str, float] = {}
    reasons = dict(missing)
    for answer, _ in answers:
        bandwidth |= {int(size): rate for size, rate in answer.get("bandwidth", {}).items()}
        for dtype, rate in answer.get("matrix", {}).items():
            rates[dtype] = max(rate, rates.get(dtype, rate))
    for answer, names in answers:
        reasons.update(answer.get("missing", {}))
        if "failed" in answer:
            reasons.update({name: str(answer["failed"]) for name in names if name not in rates})
    return _ceilings(bandwidth, rates, reasons)


def _ceilings(bandwidth: Mapping[int, float], rates: Mapping[str, float], missing: Mapping[str, str]) -> Ceilings:
    """A smaller working set is read at least as fast as any larger one, and a narrow type that is slower than float32
    is no ceiling: engines convert to float32 then.
    """
    points: list[Bandwidth] = []
    for size in sorted(bandwidth, reverse=True):
        reached = max(bandwidth[size], points[-1].bytes_per_second if points else 0.0)
        points.append(Bandwidth(size, reached))
    float32 = rates.get("float32", 0.0)
    slower = {
        dtype: f"{rate / 1e9:.3g} GFLOP/s, slower than float32: no hardware for it"
        for dtype, rate in rates.items()
        if rate < float32
    }
    matrix = tuple(MatrixRate(dtype, rate) for dtype, rate in rates.items() if dtype not in slower)
    return Ceilings(tuple(reversed(points)), matrix, {**missing, **slower})


def _by_size(ceilings: Ceilings) -> dict[int, float]:
    return {point.working_set_bytes: point.bytes_per_second for point in ceilings.bandwidth}


def _by_type(ceilings: Ceilings) -> dict[str, float]:
    return {rate.dtype: rate.operations_per_second for rate in ceilings.matrix}


def _worker(module: str, request: Mapping[str, object], python: Path | None = None) -> Mapping[str, Any]:
    """What the worker wrote as JSON, or `{"failed": why}`."""
    # Bandwidth is read by our threads, each of which must stay one; the matrix product uses all of them.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if module.endswith("torch"):
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
            environment[name] = str(request["threads"])
    # The workers import nothing of this package, so that any environment's Python can run their files.
    script = Path(__file__).with_name(f"{module.rpartition('.')[2]}.py")
    try:
        done = subprocess.run(
            [str(python or sys.executable), "-P", str(script), json.dumps(request)],
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
