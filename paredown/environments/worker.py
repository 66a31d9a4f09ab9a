"""Run a module of ours as a worker process: progress by JSON lines, a log file, nothing left behind when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paredown

OnProgress = Callable[[float, str], None]
TAIL_LINES = 30
POLL_S = 0.5


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
    reading, writing = os.pipe()
    log = directory / "worker.log"
    spec = directory / "worker.json"
    try:
        plain = {"report_fd": writing, "parent_pid": os.getpid(), "work": work}
        spec.write_text(json.dumps(plain), encoding="utf-8")
        with log.open("ab") as sink:
            process = subprocess.Popen(
                [str(python or sys.executable), "-P", "-m", module, str(spec)],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=_variables(directory, python),
                pass_fds=(writing,),
                start_new_session=True,
            )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    heard = _Heard()
    try:
        in_time = _listen(process, reading, heard, on_progress, timeout_s)
        if in_time:
            process.wait()
    finally:
        os.close(reading)
        _kill_group(process)
    if not in_time:
        raise WorkerFailed("timeout", f"was not finished within {timeout_s:.0f} s and was stopped", tail(log))
    return _result(heard.last, process.returncode, log)


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log file; empty when there is none."""
    with contextlib.suppress(FileNotFoundError):
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    return ""


def _listen(
    process: subprocess.Popen[bytes], reading: int, heard: _Heard, on_progress: OnProgress, timeout_s: float | None
) -> bool:
    """Read messages until the worker has ended; False when the time is over first."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            ended = process.poll() is not None
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
                if heard.last["event"] == "progress":
                    on_progress(heard.last["fraction"], heard.last["what"])


def _result(last: Mapping[str, Any], status: int, log: Path) -> Mapping[str, Any]:
    if last.get("event") == "done" and status == 0:
        result: Mapping[str, Any] = last["result"]
        return result
    if last.get("event") == "failed":
        raise WorkerFailed(last["kind"], last["message"], f"{tail(log)}\n{last['traceback']}".strip())
    if status == -signal.SIGKILL:
        raise WorkerFailed("memory", "was killed (signal 9), most often for lack of memory", tail(log))
    if status < 0:
        raise WorkerFailed("killed", f"was killed by signal {-status} ({signal.Signals(-status).name})", tail(log))
    raise WorkerFailed("other", f"ended with status {status} before it was done", tail(log))


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


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
