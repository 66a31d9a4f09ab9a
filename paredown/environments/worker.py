"""Run a module of ours as a worker process: progress by JSON lines, a log file, nothing left behind when it ends."""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paredown
from paredown.hosts.process import Process

OnProgress = Callable[[float, str], None]
POLL_S = 0.5
END_GRACE_S = 5.0


class WorkerFailed(Exception):
    """The worker did not do its work. `kind`: `memory`, `disk`, `user`, `import`, `timeout`, `killed`, `other`."""

    def __init__(self, kind: str, message: str, detail: str) -> None:
        super().__init__(message)
        self.kind, self.message, self.detail = kind, message, detail


@dataclass
class _Heard:
    """What has come through the pipe so far."""

    last: dict[str, Any] = field(default_factory=dict)
    rest: bytes = b""


def run(
    module: str,
    work: Mapping[str, Any],
    directory: Path,
    *,
    on_progress: OnProgress,
    python: Path | None = None,
    timeout_s: float | None = None,
) -> Mapping[str, Any]:
    """`python -m module` on `work` (plain data); returns the result that it reported.

    directory: an existing directory for the specification and `worker.log` (standard output and error)
    python:    of another environment; only paredown's own source is put on its path
    Raises WorkerFailed. Whatever happens (also KeyboardInterrupt here), the worker's whole process group is dead when
    this returns; it dies with this process too.
    """
    directory = directory.resolve()
    log, spec = directory / "worker.log", directory / "worker.json"
    spec.write_text(json.dumps({"parent_pid": os.getpid(), "work": work}), encoding="utf-8")
    process = Process(
        [str(python or sys.executable), "-P", "-m", module, str(spec)],
        cwd=directory,
        log=log,
        environment=_variables(directory, python),
    )
    heard = _Heard()
    try:
        in_time = _listen(process, heard, on_progress, timeout_s)
        if in_time:
            process.wait(END_GRACE_S)
    finally:
        process.close()
    if not in_time:
        raise WorkerFailed("timeout", f"was not finished within {timeout_s:.0f} s and was stopped", process.log_tail())
    return _result(heard.last, process)


def _listen(process: Process, heard: _Heard, on_progress: OnProgress, timeout_s: float | None) -> bool:
    """Read messages until the worker says that it is done or has ended; False when the time is over first."""
    reading = process.stdout.fileno()
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            ended = not process.alive()
            if not selector.select(POLL_S if left is None else min(left, POLL_S)):
                # Its own children may still hold the pipe open after it has gone.
                if ended:
                    return True
                continue
            data = os.read(reading, 65536)
            if not data:
                return True
            *lines, heard.rest = (heard.rest + data).split(b"\n")
            for line in lines:
                heard.last = json.loads(line)
                if heard.last["event"] != "progress":
                    return True
                on_progress(heard.last["fraction"], heard.last["what"])


def _result(last: Mapping[str, Any], process: Process) -> Mapping[str, Any]:
    tail, status = process.log_tail(), process.exit_code
    if last.get("event") == "done":
        result: Mapping[str, Any] = last["result"]
        return result
    if last.get("event") == "failed":
        raise WorkerFailed(last["kind"], last["message"], f"{tail}\n{last['traceback']}".strip())
    if process.killed_for_memory():
        raise WorkerFailed("memory", "was killed for lack of memory", tail)
    if status is not None and status < 0:
        raise WorkerFailed("killed", f"was killed by {signal.Signals(-status).name}", tail)
    raise WorkerFailed("other", f"ended with status {status} before it was done", tail)


def _variables(directory: Path, python: Path | None) -> dict[str, str]:
    """Our source alone on the path: the directory that holds this package may hold every other one as well."""
    source = directory / "source"
    source.mkdir(exist_ok=True)
    link = source / "paredown"
    if not link.is_symlink():
        link.symlink_to(Path(paredown.__file__).resolve().parent, target_is_directory=True)
    variables = dict(os.environ)
    own = variables.pop("PYTHONPATH", "") if python is None or str(python) == sys.executable else ""
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        variables.pop(name, None)
    # Everything that a worker reads is a local file: a library that asks the hub would only lose time.
    variables |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}
    return variables | {"PYTHONPATH": os.pathsep.join(p for p in (str(source), own) if p), "PYTHONUNBUFFERED": "1"}
