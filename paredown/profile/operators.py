"""The operator tables of an engine on PyTorch, and their traces, from a worker process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paredown.contracts import Engine
from paredown.environments import worker
from paredown.profile.worker_operators import OperatorsFound, OperatorsWork, trace_name
from paredown.records.codec import from_plain, to_plain
from paredown.records.measurement import OperatorTable

OnProgress = Callable[[float, str], None]

MODULE = "paredown.profile.worker_operators"
TIMEOUT_S = 900.0
COMPLETE = "X"


@dataclass(frozen=True)
class Looked:
    """What a tool found: tables, files that other tools open, and what it could not do with the reason."""

    tables: tuple[OperatorTable, ...] = ()
    traces: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


def look(work: OperatorsWork, engine: Engine, directory: Path, *, python: Path, on_progress: OnProgress) -> Looked:
    """Run the worker; an engine that is not on PyTorch, or a worker that fails, is left out with the reason."""
    if "torch" not in engine.needs.packages:
        return Looked(left_out={"operators": f"{engine.name} does not run on PyTorch, whose profiler makes the table"})
    Path(work.traces).mkdir(parents=True, exist_ok=True)
    try:
        answer = worker.run(
            MODULE, to_plain(work), directory, on_progress=on_progress, python=python, timeout_s=TIMEOUT_S
        )
    except worker.WorkerFailed as failure:
        return Looked(left_out={"operators": f"the profiled process {failure.message}"})
    tables = from_plain(OperatorsFound, answer).tables
    traces, left_out = [], {}
    for table in tables:
        path = Path(work.traces) / trace_name(table.phase)
        fault = fault_of_trace(path)
        if fault:
            left_out[f"trace of {table.phase}"] = fault
        else:
            traces.append(str(path))
    return Looked(tables, tuple(traces), left_out)


def fault_of_trace(path: Path) -> str:
    """Why Perfetto would not show this Chrome trace; empty when it will: JSON with complete events that have times."""
    try:
        trace: Any = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
        events = [event for event in trace["traceEvents"] if event["ph"] == COMPLETE]
        timed = all(isinstance(event[key], int | float) for event in events for key in ("ts", "dur"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{path.name} is no Chrome trace: {type(error).__name__}: {error}"
    if not events:
        return f"{path.name} has no events"
    return "" if timed else f"{path.name} has events without times"


def _refuse(constant: str) -> None:
    """Python would read NaN and Infinity, which are no JSON."""
    raise ValueError(f"{constant} is no JSON")
