"""NVIDIA's profilers over the timed steps, where they are installed: Nsight Systems (`nsys`), Nsight Compute (`ncu`).

`nsys` shows which kernels take the time and what the NVTX ranges of our steps take; `ncu` how near to its memory and
arithmetic limits each kernel of one decode step runs. Their tables are parsed from the CSV that they print.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import paredown
from paredown.hosts.process import Process
from paredown.profile.operators import Looked
from paredown.profile.worker_steps import StepsWork
from paredown.records.codec import dumps
from paredown.records.measurement import OperatorRow, OperatorTable

TIMEOUT_S = 900.0
MODULE = "paredown.profile.worker_nsight"
RANGES = {"prefill": "prefill", "decode": "decode step"}
STEP_FOR_NCU = 1
MOST_KERNELS_FOR_NCU = 200
INSTALL = {
    "nsys": "install Nsight Systems (https://developer.nvidia.com/nsight-systems) and put `nsys` on PATH",
    "ncu": "install Nsight Compute (https://developer.nvidia.com/nsight-compute) and put `ncu` on PATH",
}
NANOSECONDS = {"ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9}


class ToolFailed(Exception):
    """A profiler did not give what was asked of it; the message says why."""


@dataclass(frozen=True)
class Tool:
    """An installed profiler, the Python of the engine's environment, and where logs and reports go."""

    program: str
    python: Path
    logs: Path
    out: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, arguments: Sequence[str], log: str) -> str:
        """Run it to its end in a process group that dies with us; what it printed. Raises ToolFailed."""
        path = self.logs / log
        path.unlink(missing_ok=True)
        own = ["-P", "-m", "paredown.hosts.parent_death", str(os.getpid())]
        process = Process(
            [str(self.python), *own, self.program, *arguments],
            cwd=self.logs,
            log=path,
            environment=self.variables,
            read_stdout=False,
        )
        try:
            in_time = process.wait(TIMEOUT_S)
        finally:
            process.close()
        if not in_time:
            raise ToolFailed(f"was not finished within {TIMEOUT_S:.0f} s and was stopped")
        text = path.read_text(encoding="utf-8", errors="replace")
        if process.exit_code != 0:
            last = (text.strip().splitlines() or ["no message"])[-1]
            raise ToolFailed(f"ended with status {process.exit_code}: {last[:300]}")
        return text


def look(work: StepsWork, logs: Path, out: Path, *, python: Path) -> Looked:
    """Run both over one prompt and a few decode steps of it; a tool that cannot run is left out with its reason.

    logs, out: existing directories, for logs and for the report that Nsight Systems opens
    """
    if not work.device.startswith("cuda"):
        why = f"it watches NVIDIA GPUs, and this profile ran on {work.device}"
        return Looked(left_out=dict.fromkeys(INSTALL, why))
    tables: list[OperatorTable] = []
    traces: list[str] = []
    left_out: dict[str, str] = {}
    spec = logs.resolve() / "nsight.json"
    spec.write_text(dumps(replace(work, results=str(spec.with_suffix(".jsonl")))), encoding="utf-8")
    for name, run in (("nsys", run_nsys), ("ncu", run_ncu)):
        program = shutil.which(name)
        if program is None:
            left_out[name] = f"not on PATH; {INSTALL[name]}"
            continue
        try:
            found = run(Tool(program, python, logs.resolve(), out.resolve(), _variables(logs)), spec, work)
        except ToolFailed as failure:
            left_out[name] = str(failure)
        else:
            tables += found.tables
            traces += found.traces
    return Looked(tuple(tables), tuple(traces), left_out)


def run_nsys(tool: Tool, spec: Path, work: StepsWork) -> Looked:
    """Timeline and kernel summary by Nsight Systems. Raises ToolFailed."""
    report = tool.out / "nsys.nsys-rep"
    tool.run(
        [
            "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true",
            f"--output={report.with_suffix('')}", str(tool.python), "-P", "-m", MODULE, str(spec),
        ],
        "nsys.log",
    )  # fmt: skip
    if not report.exists():
        raise ToolFailed(f"left no {report.name} (see nsys.log)")
    kernels = tool.run(_statistics("nvtx_kern_sum", report), "nsys-kernels.csv")
    ranges = tool.run(_statistics("nvtx_sum", report), "nsys-ranges.csv")
    return Looked(nsys_tables(kernels, ranges, work), (str(report),))


def _statistics(name: str, report: Path) -> list[str]:
    return ["stats", "--report", name, "--format", "csv", "--output", "-", "--force-export=true", str(report)]


def nsys_tables(kernels: str, ranges: str, work: StepsWork) -> tuple[OperatorTable, ...]:
    """Kernels of prefill and of decode, in seconds a step: each step has its NVTX range.

    kernels, ranges: what `nsys stats` prints for `nvtx_kern_sum` and `nvtx_sum`. Raises ToolFailed.
    """
    launched = rows_of(kernels, ("NVTX Range", "Kern Inst", "Total Time (ns)", "Kernel Name"))
    lasted = rows_of(ranges, ("Range", "Instances", "Total Time (ns)"))
    tables = []
    for phase, beginning in RANGES.items():
        own = [row for row in lasted if _is_named(row["Range"], beginning)]
        times: dict[str, tuple[int, float]] = {}
        for row in launched:
            if _is_named(row["NVTX Range"], beginning):
                calls, time_ns = times.get(row["Kernel Name"], (0, 0.0))
                more = int(_number(row["Kern Inst"])), _number(row["Total Time (ns)"])
                times[row["Kernel Name"]] = calls + more[0], time_ns + more[1]
        if own and times:
            wall_s = sum(_number(row["Total Time (ns)"]) for row in own) / 1e9
            steps = sum(int(_number(row["Instances"])) for row in own)
            entries = [(name, calls, time_ns) for name, (calls, time_ns) in times.items()]
            tables.append(_table(f"{phase} (nsys)", work, steps, wall_s, entries))
    if not tables:
        raise ToolFailed("recorded no kernel within the NVTX ranges of the steps")
    return tuple(tables)


def _is_named(nvtx_range: str, beginning: str) -> bool:
    """Newer versions put the domain and a colon before the name; ours is the default one, without a name."""
    return nvtx_range.lstrip(":").startswith(beginning)


def run_ncu(tool: Tool, spec: Path, work: StepsWork) -> Looked:
    """Speed of light of the kernels of one decode step by Nsight Compute. Raises ToolFailed."""
    output = tool.logs / "ncu.csv"
    output.unlink(missing_ok=True)
    tool.run(
        [
            "--csv", "--page", "details", "--section", "SpeedOfLight", "--target-processes", "all",
            "--nvtx", "--nvtx-include", f"decode step {STEP_FOR_NCU}/", "--launch-count", str(MOST_KERNELS_FOR_NCU),
            "--log-file", str(output), str(tool.python), "-P", "-m", MODULE, str(spec),
        ],
        "ncu.log",
    )  # fmt: skip
    if not output.exists():
        raise ToolFailed(f"left no {output.name} (see ncu.log)")
    return Looked((ncu_table(output.read_text(encoding="utf-8", errors="replace"), work),), ())


def ncu_table(text: str, work: StepsWork) -> OperatorTable:
    """Kernels of one decode step, one after the other as Nsight Compute runs them: the time between them is not seen,
    so that the whole is the sum of the kernels. Raises ToolFailed.
    """
    durations: dict[str, dict[str, float]] = defaultdict(dict)
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows_of(text, ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")):
        name, metric, value = row["Kernel Name"], row["Metric Name"], row["Metric Value"]
        if metric == "Duration":
            if row["Metric Unit"] not in NANOSECONDS:
                raise ToolFailed(f"gave a duration in {row['Metric Unit']!r}, which is not known here")
            durations[name][row["ID"]] = _number(value) * NANOSECONDS[row["Metric Unit"]]
        elif metric in ("Memory Throughput", "Compute (SM) Throughput") and row["Metric Unit"] == "%":
            shares[name][metric.partition(" ")[0].lower()].append(_number(value))
    if not durations:
        raise ToolFailed("profiled no kernel")
    times = [(_named(name, shares[name]), len(calls), sum(calls.values())) for name, calls in durations.items()]
    return _table("decode (ncu)", work, 1, sum(time for _, _, time in times) / 1e9, times)


def _named(kernel: str, shares: Mapping[str, Sequence[float]]) -> str:
    """The kernel and how near it runs to what the GPU can do, in the mean of its calls."""
    said = [f"{what} {sum(values) / len(values):.0f} %" for what, values in sorted(shares.items())]
    return f"{kernel} ({', '.join(said)} of peak)" if said else kernel


def _table(
    phase: str, work: StepsWork, steps: int, wall_s: float, times_ns: Iterable[tuple[str, int, float]]
) -> OperatorTable:
    ordered = sorted(times_ns, key=lambda entry: -entry[2])
    total_ns = sum(time_ns for _, _, time_ns in ordered)
    rows = tuple(
        OperatorRow(name, max(1, round(calls / steps)), time_ns / 1e9 / steps, time_ns / total_ns if total_ns else 0.0)
        for name, calls, time_ns in ordered
    )
    framework_s = max(0.0, wall_s - total_ns / 1e9)
    return OperatorTable(phase, 1, min(work.prompt_tokens), steps, wall_s / steps, framework_s / steps, rows)


def rows_of(text: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """Rows of the first CSV table in what a tool printed that has these columns; lines before its header are skipped.

    Raises ToolFailed when there is no such table.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines):
        header = next(csv.reader([line]), [])
        if set(columns) <= set(header):
            table = csv.DictReader(lines[number:])
            return [row for row in table if None not in row.values() and None not in row]
    raise ToolFailed(f"printed no table with the columns {', '.join(columns)}")


def _number(text: str) -> float:
    """Numbers may have commas between thousands."""
    return float(text.replace(",", ""))


def _variables(logs: Path) -> dict[str, str]:
    """Our source alone on the path, as every worker has it."""
    source = logs / "source"
    source.mkdir(exist_ok=True)
    link = source.resolve() / "paredown"
    if not link.is_symlink():
        link.symlink_to(Path(paredown.__file__).resolve().parent, target_is_directory=True)
    own = {"PYTHONPATH": str(source.resolve()), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return {name: value for name, value in os.environ.items() if name != "PYTHONHOME"} | own
