"""Ceilings come from processes of their own; what could not be measured says why."""

from __future__ import annotations

import json
import sys

import pytest

from paredown.profile import ceilings, worker_numpy


def test_a_worker_that_fails_leaves_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "_worker", lambda module, request: {"failed": f"{module} is broken"})
    found = ceilings.measure(threads=1)

    assert (found.bandwidth, found.matrix) == ((), ())
    assert found.missing["float32"] == "paredown.profile.worker_numpy is broken"
    assert {"bandwidth", "bfloat16", "int8"} <= set(found.missing)


def test_working_sets_too_large_for_the_memory_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def worker(module: str, request: dict[str, object]) -> dict[str, object]:
        asked.append(request.get("working_sets"))
        return {}

    monkeypatch.setattr(ceilings, "_worker", worker)
    found = ceilings.measure(threads=1, working_sets=[1 << 20, 1 << 50])

    assert asked[0] == [1 << 20]
    assert found.missing[f"bandwidth at {1 << 30} MiB"] == "too little free memory"


def test_a_module_that_does_not_run_is_reported() -> None:
    assert "No module named" in ceilings._worker("paredown.profile.nowhere", {"threads": 1})["failed"]


def test_the_worker_measures_what_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_numpy, "MATRIX_SIZE", 8)
    monkeypatch.setattr(worker_numpy, "_best_round_s", lambda pool, work, parts, seconds: 0.5)
    found = json.loads(worker_numpy.main(json.dumps({"threads": 2, "working_sets": [1 << 20]})))
    repeats = round(10e-3 * 30e9 / (1 << 20))

    assert found["bandwidth"] == {str(1 << 20): pytest.approx((1 << 20) * repeats / 0.5)}
    assert found["matrix"] == {"float32": pytest.approx(2 * 2 * 8**3 / 0.5)}


def test_the_package_loads_no_heavy_library() -> None:
    assert "torch" not in vars(ceilings)
    assert "paredown.profile.worker_torch" not in sys.modules
