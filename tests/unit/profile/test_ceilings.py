"""Ceilings come from processes of their own; what could not be measured says why."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from paredown.profile import ceilings, worker_numpy
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate

MB = ceilings.MB


def measured(monkeypatch: pytest.MonkeyPatch, **answers: dict[str, object]) -> Ceilings:
    """Ceilings from what the two workers are made to answer."""
    monkeypatch.setattr(
        ceilings, "_worker", lambda module, request, python=None: answers.get(module.rpartition("_")[2], {})
    )
    monkeypatch.setattr(ceilings.importlib.util, "find_spec", lambda name: object())
    return ceilings.measure(threads=1)


def test_a_worker_that_fails_leaves_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, numpy={"failed": "numpy is broken"}, torch={"failed": "torch is broken"})

    assert (found.bandwidth, found.matrix) == ((), ())
    assert found.missing["bandwidth"] == "numpy is broken"
    assert {"float32", "bfloat16", "int8"} <= set(found.missing)


def test_float32_counts_by_the_faster_library(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, numpy={"matrix": {"float32": 1e11}}, torch={"matrix": {"float32": 4e11}})

    assert found.matrix == (MatrixRate("float32", 4e11),)


def test_float32_is_not_missing_where_one_library_measured_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, numpy={"matrix": {"float32": 1e11}}, torch={"failed": "torch is not installed"})

    assert found.matrix == (MatrixRate("float32", 1e11),)
    assert "float32" not in found.missing
    assert found.missing["int8"] == "torch is not installed"


def test_a_narrow_type_slower_than_float32_is_no_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, torch={"matrix": {"float32": 2e11, "float16": 1e9, "bfloat16": 8e11}})

    assert [rate.dtype for rate in found.matrix] == ["float32", "bfloat16"]
    assert found.missing["float16"] == "1 GFLOP/s, slower than float32: no hardware for it"


def test_a_smaller_working_set_is_never_slower_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, numpy={"bandwidth": {"100": 9.0, "200": 3.0, "400": 5.0, "800": 4.0}})

    assert found.bandwidth == (Bandwidth(100, 9.0), Bandwidth(200, 5.0), Bandwidth(400, 5.0), Bandwidth(800, 4.0))


def test_working_sets_too_large_for_the_memory_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def worker(module: str, request: dict[str, object], python: Path | None = None) -> dict[str, object]:
        asked.append(request.get("working_sets"))
        return {}

    monkeypatch.setattr(ceilings, "_worker", worker)
    found = ceilings.measure(threads=1, working_sets=[1 << 20, 1 << 50])

    assert asked[0] == [1 << 20]
    assert found.missing[f"bandwidth at {1 << 30} MiB"] == "too little free memory"


def test_a_device_is_measured_by_the_torch_that_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def worker(module: str, request: dict[str, object], python: Path | None = None) -> dict[str, object]:
        asked.extend((module, request["device"], python))
        return {"bandwidth": {str(MB): 3e12}, "matrix": {"float32": 5e13}}

    monkeypatch.setattr(ceilings, "_worker", worker)
    found = ceilings.measure_device("cuda:1", python=Path("/other/python"))

    assert asked == ["paredown.profile.worker_torch", "cuda:1", Path("/other/python")]
    assert (found.bandwidth, found.matrix) == ((Bandwidth(MB, 3e12),), (MatrixRate("float32", 5e13),))


def test_the_best_of_two_measurements_is_taken_figure_by_figure() -> None:
    busy = Ceilings((Bandwidth(100, 2.0), Bandwidth(200, 2.0)), (MatrixRate("float32", 5.0),), {"int8": "no torch"})
    quiet = Ceilings((Bandwidth(100, 8.0),), (MatrixRate("float32", 4.0), MatrixRate("int8", 9.0)))

    found = ceilings.best_of(busy, quiet)

    assert found.bandwidth == (Bandwidth(100, 8.0), Bandwidth(200, 2.0))
    assert found.matrix == (MatrixRate("float32", 5.0), MatrixRate("int8", 9.0))
    assert found.missing == {}


def test_a_module_that_does_not_run_is_reported() -> None:
    assert "No such file" in ceilings._worker("paredown.profile.nowhere", {"threads": 1})["failed"]


def test_the_worker_measures_what_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_numpy, "MATRIX_SIZE", 8)
    monkeypatch.setattr(worker_numpy, "_best_round_s", lambda pool, work, parts, seconds: 0.5)
    found = json.loads(worker_numpy.main(json.dumps({"threads": 2, "working_sets": [1 << 20]})))
    repeats = round(10e-3 * 100e9 / (1 << 20))

    assert found["bandwidth"] == {str(1 << 20): pytest.approx((1 << 20) * repeats / 0.5)}
    assert found["matrix"] == {"float32": pytest.approx(2 * 2 * 8**3 / 0.5)}


def test_the_fastest_way_to_read_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([0.5, 0.2, 0.4])
    monkeypatch.setattr(worker_numpy, "_best_round_s", lambda pool, work, parts, seconds: next(rounds))

    with ThreadPoolExecutor(1) as pool:
        found = worker_numpy.read_bandwidth(1 << 20, 1, pool)

    assert found == pytest.approx((1 << 20) * round(10e-3 * 100e9 / (1 << 20)) / 0.2)


def test_every_way_to_read_touches_the_whole_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[int] = []

    def count(*arrays: np.ndarray) -> None:
        parts: Sequence[np.ndarray] = [a for a in arrays if a.base is not None or a is vector]
        touched.append(len({a.__array_interface__["data"][0] + 4 * i for a in parts for i in range(a.size)}))

    vector = np.ones(4 * worker_numpy.COLUMNS, dtype=np.float32)
    for name in ("dot", "matmul"):
        monkeypatch.setattr(worker_numpy.np, name, count)
    for read in (worker_numpy.read_one_stream, worker_numpy.read_two_streams, worker_numpy.read_rows):
        read(vector)

    assert touched == [vector.size] * 3


def test_the_package_loads_no_heavy_library() -> None:
    assert "torch" not in vars(ceilings)
    assert "paredown.profile.worker_torch" not in sys.modules
