"""NVIDIA's profilers, played by programs on PATH that print what the real ones do."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from paredown.profile import nsight, steps
from paredown.profile.driving import Effort
from paredown.profile.nsight import Tool, ToolFailed
from paredown.profile.worker_steps import StepsWork
from paredown.records.codec import dumps

EFFORT = Effort(prefill_rounds=1, batch_rounds=1, steps=2, warm_up_steps=1)

# Layout of Nsight Systems 2024: notes, then the header.
KERNELS = """Generating SQLite file x.sqlite from x.nsys-rep
Processing [x.sqlite] with [/opt/nsys/reports/nvtx_kern_sum.py]...
NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Kernel Name
:prefill,PushPop,7,7,1,30,900000,30000,30000,1,2,3,"void gemm<float, 128>(int, int)"
:decode step 0,PushPop,7,7,1,60,300000,5000,5000,1,2,3,"void gemv<float>(int, int)"
:decode step 1,PushPop,7,7,1,60,500000,5000,5000,1,2,3,"void gemv<float>(int, int)"
:decode step 1,PushPop,7,7,1,20,200000,5000,5000,1,2,3,softmax
:aten::mm,PushPop,7,7,1,20,999999,5000,5000,1,2,3,somebody_elses
"""
RANGES = """Processing [x.sqlite] with [/opt/nsys/reports/nvtx_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
50.0,1000000,1,1000000.0,1,1,1,0.0,PushPop,:prefill
25.0,1200000,1,1200000.0,1,1,1,0.0,PushPop,:decode step 0
25.0,800000,1,800000.0,1,1,1,0.0,PushPop,:decode step 1
"""
# Layout of Nsight Compute 2024, page `details`.
NCU_HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Section Name","Metric Name","Metric Unit","Metric Value"'
)


def ncu_row(number: int, kernel: str, metric: str, unit: str, value: str) -> str:
    return (
        f'"{number}","7","python","host","{kernel}","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0",'
        f'"GPU Speed Of Light Throughput","{metric}","{unit}","{value}"'
    )


NCU = "\n".join([
    "==PROF== Connected to process 7 (/usr/bin/python3)", NCU_HEADER,
    ncu_row(0, "gemv<float, 4>", "Duration", "us", "1,500.00"),
    ncu_row(0, "gemv<float, 4>", "Memory Throughput", "%", "80.00"),
    ncu_row(0, "gemv<float, 4>", "Compute (SM) Throughput", "%", "20.00"),
    ncu_row(1, "softmax", "Duration", "ns", "500,000"),
    ncu_row(2, "gemv<float, 4>", "Duration", "ms", "2.0"),
    ncu_row(2, "gemv<float, 4>", "Memory Throughput", "%", "90.00"),
    ncu_row(2, "gemv<float, 4>", "Memory Throughput", "Gbyte/second", "900.00"),
]) + "\n"  # fmt: skip


@pytest.fixture
def work(fake_engine, make_candidate, tmp_path: Path) -> StepsWork:
    candidate, facts = make_candidate()
    return steps.work_of(
        fake_engine, candidate, facts, device="cpu", batches=(1,), prompt_tokens=(10,),
        results=tmp_path / "results", effort=EFFORT,
    )  # fmt: skip


def program(directory: Path, name: str, body: str) -> Path:
    """An executable that notes its arguments in NAME.called and then does `body`."""
    path = directory / name
    note = f"import sys, subprocess, pathlib\nopen({str(path)!r} + '.called', 'a').write(repr(sys.argv[1:]) + '\\n')\n"
    path.write_text(f"#!{sys.executable} -S\n{note}{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def calls(tool: Path) -> list[list[str]]:
    return [eval(line) for line in Path(f"{tool}.called").read_text().splitlines()]


NSYS = f"""
arguments = sys.argv[1:]
if arguments[0] == "profile":
    report = next(a for a in arguments if a.startswith("--output=")).removeprefix("--output=")
    app = arguments[[a.startswith("--output=") for a in arguments].index(True) + 1:]
    status = subprocess.run(app).returncode
    pathlib.Path(report + ".nsys-rep").write_text("report")
    sys.exit(status)
print({{"nvtx_kern_sum": {KERNELS!r}, "nvtx_sum": {RANGES!r}}}[arguments[2]])
"""
NCU_BODY = f"""
arguments = sys.argv[1:]
at = arguments.index("--log-file") + 1
status = subprocess.run(arguments[at + 1:]).returncode
pathlib.Path(arguments[at]).write_text({NCU!r})
sys.exit(status)
"""


def tool(tmp_path: Path, path: Path) -> Tool:
    return Tool(str(path), Path(sys.executable), tmp_path, tmp_path, nsight._variables(tmp_path))


def spec(tmp_path: Path, work: StepsWork) -> Path:
    (tmp_path / "nsight.json").write_text(dumps(replace(work, results=str(tmp_path / "seen.jsonl"))))
    return tmp_path / "nsight.json"


def test_nsight_systems_runs_the_steps_and_its_summary_is_read(tmp_path: Path, work: StepsWork) -> None:
    nsys = program(tmp_path, "nsys", NSYS)
    found = nsight.run_nsys(tool(tmp_path, nsys), spec(tmp_path, work), work)

    assert [t.phase for t in steps.read(tmp_path / "seen.jsonl").timed] == ["prefill", "decode"]
    assert found.traces == (str(tmp_path / "nsys.nsys-rep"),)
    prefill, decode = found.tables
    assert (prefill.phase, prefill.steps, prefill.wall_s) == ("prefill (nsys)", 1, pytest.approx(1e-3))
    assert prefill.rows[0].name == "void gemm<float, 128>(int, int)"
    # Two steps of 2 ms together, 1 ms of it in kernels: 0.8 ms in 120 calls of one and 0.2 ms in 20 of the other.
    assert (decode.phase, decode.steps) == ("decode (nsys)", 2)
    assert (decode.wall_s, decode.framework_s) == (pytest.approx(1e-3), pytest.approx(0.5e-3))
    assert [(row.name, row.calls) for row in decode.rows] == [("void gemv<float>(int, int)", 60), ("softmax", 10)]
    assert [row.share for row in decode.rows] == [pytest.approx(0.8), pytest.approx(0.2)]


def test_nsight_systems_is_given_an_argument_list(tmp_path: Path, work: StepsWork) -> None:
    nsys = program(tmp_path, "nsys", NSYS)
    nsight.run_nsys(tool(tmp_path, nsys), spec(tmp_path, work), work)
    profiled, kernels, ranges = calls(nsys)

    assert "--trace=cuda,nvtx" in profiled
    assert profiled[-5:] == [
        sys.executable, "-P", "-m", "paredown.profile.worker_nsight", str(tmp_path / "nsight.json"),
    ]  # fmt: skip
    assert kernels[:5] == ["stats", "--report", "nvtx_kern_sum", "--format", "csv"]
    assert ranges[2] == "nvtx_sum"


def test_nsight_compute_gives_the_kernels_of_one_step(tmp_path: Path, work: StepsWork) -> None:
    ncu = program(tmp_path, "ncu", NCU_BODY)
    (table,) = nsight.run_ncu(tool(tmp_path, ncu), spec(tmp_path, work), work).tables

    assert (table.phase, table.steps, table.wall_s) == ("decode (ncu)", 1, pytest.approx(4e-3))
    first, second = table.rows
    assert first.name == "gemv<float, 4> (compute 20 %, memory 85 % of peak)"
    assert (first.calls, first.self_s, first.share) == (2, pytest.approx(3.5e-3), pytest.approx(0.875))
    assert (second.name, second.self_s) == ("softmax", pytest.approx(0.5e-3))
    (arguments,) = calls(ncu)
    assert arguments[arguments.index("--nvtx-include") + 1] == "decode step 1/"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('no permission'); sys.exit(3)", "ended with status 3: no permission"),
        ("sys.exit(0)", "left no nsys.nsys-rep"),
        (NSYS.replace("decode step", "other").replace(":prefill", ":x"), "no kernel within the NVTX ranges"),
        (NSYS.replace("Kern Inst", "Count"), "printed no table with the columns NVTX Range, Kern Inst"),
    ],
)
def test_a_profiler_that_does_not_do_its_work_says_why(tmp_path: Path, work: StepsWork, body: str, why: str) -> None:
    nsys = program(tmp_path, "nsys", body)

    with pytest.raises(ToolFailed, match=why):
        nsight.run_nsys(tool(tmp_path, nsys), spec(tmp_path, work), work)


def test_a_unit_that_is_not_known_is_refused(work: StepsWork) -> None:
    strange = "\n".join([NCU_HEADER, ncu_row(0, "k", "Duration", "fortnight", "1")])

    with pytest.raises(ToolFailed, match="fortnight"):
        nsight.ncu_table(strange, work)


def look(tmp_path: Path, work: StepsWork, monkeypatch: pytest.MonkeyPatch, path: Sequence[Path]) -> nsight.Looked:
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, path)))
    return nsight.look(work, tmp_path, tmp_path, python=Path(sys.executable))


def test_on_a_cpu_neither_is_tried(tmp_path: Path, work: StepsWork, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "nsys", NSYS)
    found = look(tmp_path, work, monkeypatch, [tmp_path])

    assert found.left_out == dict.fromkeys(("nsys", "ncu"), "it watches NVIDIA GPUs, and this profile ran on cpu")


def test_what_is_not_installed_is_left_out_with_how_to_get_it(
    tmp_path: Path, work: StepsWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = look(tmp_path, replace(work, device="cuda"), monkeypatch, [tmp_path])

    assert found.left_out["nsys"].startswith("not on PATH; install Nsight Systems")
    assert found.left_out["ncu"].startswith("not on PATH; install Nsight Compute")


def test_one_that_fails_leaves_the_other(tmp_path: Path, work: StepsWork, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "nsys", NSYS.replace("subprocess.run(app).returncode", "0"))
    program(tmp_path, "ncu", "print('ERR_NVGPUCTRPERM'); sys.exit(1)")
    found = look(tmp_path, replace(work, device="cuda"), monkeypatch, [tmp_path])

    assert [table.phase for table in found.tables] == ["prefill (nsys)", "decode (nsys)"]
    assert found.left_out == {"ncu": "ended with status 1: ERR_NVGPUCTRPERM"}
