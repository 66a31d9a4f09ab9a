"""Operator tables add up to the time of a step; a trace that Perfetto would not show is not offered."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from paredown.contracts import Needs
from paredown.environments import worker
from paredown.profile import operators
from paredown.profile.worker_operators import Average, OperatorsFound, OperatorsWork, table
from paredown.records.codec import to_plain
from paredown.records.measurement import OperatorTable

AVERAGES = [
    Average("aten::add", 80, 1_000.0, 0),
    Average("aten::mm", 40, 3_000.0, 8_000),
    Average("decode step 0", 1, 700.0, 0),
    Average("prefill", 1, 700.0, 0),
    Average("aten::view", 9, 0.0, 0),
]


def test_a_table_is_of_one_step_the_dearest_operator_first() -> None:
    found = table("decode", 130, 4, 0.008, AVERAGES)

    assert [row.name for row in found.rows] == ["aten::mm", "aten::add"]
    first, second = found.rows
    assert (first.calls, first.self_s, first.share, first.operations) == (10, pytest.approx(0.75e-3), 0.75, 2000)
    assert (second.calls, second.operations) == (20, None)


def test_what_no_operator_accounts_for_is_the_frameworks() -> None:
    # 8 ms in all, 4 ms in operators; our own ranges are not operators.
    found = table("decode", 130, 4, 0.008, AVERAGES)

    assert (found.wall_s, found.framework_s) == (pytest.approx(2e-3), pytest.approx(1e-3))


def test_what_the_device_does_is_counted_by_the_devices_time() -> None:
    @dataclass
    class Event:
        key: str = "aten::mm"
        count: int = 3
        self_cpu_time_total: float = 5.0
        self_device_time_total: float = 90.0
        flops: int | None = None

    assert Average.of(Event(), on_device=True) == Average("aten::mm", 3, 90.0, 0)
    assert Average.of(Event(flops=7), on_device=False) == Average("aten::mm", 3, 5.0, 7)


GOOD = {"traceEvents": [{"ph": "M"}, {"ph": "X", "ts": 1.5, "dur": 2, "name": "aten::mm"}]}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (json.dumps(GOOD), ""),
        (json.dumps(GOOD)[:-9], "no Chrome trace"),
        (json.dumps(GOOD).replace("1.5", "NaN"), "no Chrome trace"),
        (json.dumps(GOOD).replace('"ts": 1.5, ', ""), "no Chrome trace"),
        (json.dumps(GOOD).replace("1.5", '"now"'), "events without times"),
        (json.dumps({"traceEvents": [{"ph": "M"}]}), "no events"),
        ("[]", "no Chrome trace"),
    ],
)
def test_a_trace_must_be_one_that_perfetto_shows(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "t.json").write_text(text)
    found = operators.fault_of_trace(tmp_path / "t.json")

    assert (fault in found) if fault else (found == "")


def work(traces: Path) -> OperatorsWork:
    return OperatorsWork("fake", {}, {}, "cpu", 257, 10, 4, str(traces))


def look(engine, traces: Path) -> operators.Looked:
    return operators.look(
        work(traces), engine, traces, python=Path(sys.executable), on_progress=lambda fraction, what: None
    )


def test_an_engine_without_pytorch_is_left_out(fake_engine, tmp_path: Path) -> None:
    found = look(fake_engine, tmp_path)

    assert found.left_out == {"operators": "fake does not run on PyTorch, whose profiler makes the table"}
    assert (found.tables, found.traces) == ((), ())


def test_traces_are_offered_only_when_they_are_good(
    fake_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = tuple(OperatorTable(phase, 1, 10, 1, 1.0, 0.5, ()) for phase in ("prefill", "decode"))
    (tmp_path / "prefill.trace.json").write_text(json.dumps(GOOD))
    monkeypatch.setattr(worker, "run", lambda *arguments, **more: to_plain(OperatorsFound(tables)))
    found = look(replace(fake_engine, needs=Needs(packages=("torch",))), tmp_path)

    assert found.tables == tables
    assert found.traces == (str(tmp_path / "prefill.trace.json"),)
    assert list(found.left_out) == ["trace of decode"]


def test_a_worker_that_fails_is_left_out_with_its_reason(
    fake_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **more: object) -> None:
        raise worker.WorkerFailed("memory", "was killed for lack of memory", "")

    monkeypatch.setattr(worker, "run", fail)
    found = look(replace(fake_engine, needs=Needs(packages=("torch",))), tmp_path)

    assert found.left_out == {"operators": "the profiled process was killed for lack of memory"}
