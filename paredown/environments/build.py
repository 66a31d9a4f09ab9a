"""Make an isolated environment: venv, pip, removals, then the stamp. Safe when two processes want the same one."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from paredown.contracts import Environment
from paredown.environments.place import LOCK_SUFFIX, STAMP, directory, locate, python_in
from paredown.errors import TechniqueError

OnProgress = Callable[[float, str], None]
"""(fraction done 0…1, what is being done)"""

Execute = Callable[[Sequence[str], Path], int]
"""Run a command, its output appended to the file; the exit status."""

TYPICAL_SECONDS = 180
TAIL_LINES = 25


def ensure(
    environment: Environment,
    cache: Path,
    on_progress: OnProgress,
    *,
    execute: Execute | None = None,
) -> Path:
    """The Python of the environment, made now when it is not there yet (typically 1 to 5 minutes, about 2 GB).

    Another process that makes the same one is waited for. What an interrupted build left is deleted and made anew.
    Raises TechniqueError that names the command which failed and holds the tail of its output.
    """
    python = locate(environment, cache)
    if python is not None:
        return python
    where = directory(environment, cache)
    where.parent.mkdir(parents=True, exist_ok=True)
    with _locked(where.with_name(where.name + LOCK_SUFFIX), environment.name, on_progress):
        python = locate(environment, cache)
        if python is not None:
            return python
        if where.exists():
            shutil.rmtree(where)
        _build(environment, where, on_progress, execute or _execute)
    on_progress(1.0, f"environment {environment.name} is ready")
    return python_in(where)


def _build(environment: Environment, where: Path, on_progress: OnProgress, execute: Execute) -> None:
    python = str(python_in(where))
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    packages = ", ".join(environment.requirements)
    commands = [
        (0.0, f"making environment {environment.name}", [sys.executable, "-m", "venv", str(where)]),
        (
            0.05,
            f"installing {packages} (usually about {TYPICAL_SECONDS // 60} minutes)",
            [*pip, "install", "--progress-bar", "off", *environment.requirements],
        ),
    ]
    if environment.remove:
        commands.append(
            (0.95, f"removing {', '.join(environment.remove)}", [*pip, "uninstall", "--yes", *environment.remove])
        )
    log = where.with_name(where.name + ".log")
    log.write_text("", encoding="utf-8")
    for fraction, what, command in commands:
        on_progress(fraction, what)
        status = execute(command, log)
        if status != 0:
            raise TechniqueError(
                f"The environment {environment.name!r} could not be made: `{' '.join(command)}` ended with status "
                f"{status}. Its output is in {log}.",
                detail=_tail(log),
            )
    _write_stamp(environment, where)


def _write_stamp(environment: Environment, where: Path) -> None:
    facts = {
        "name": environment.name,
        "requirements": list(environment.requirements),
        "remove": list(environment.remove),
    }
    half = where / (STAMP + ".half")
    half.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    half.replace(where / STAMP)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:])


def _execute(command: Sequence[str], log: Path) -> int:
    # A path of the caller's packages would shadow the environment's own.
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    with log.open("ab") as sink:
        finished = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, env=variables, check=False
        )
    return finished.returncode


@contextlib.contextmanager
def _locked(path: Path, name: str, on_progress: OnProgress) -> Iterator[None]:
    """Hold the lock of this environment. The kernel frees it when the holder dies, even by SIGKILL."""
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress(0.0, f"another process is making environment {name}: waiting for it")
            started = time.monotonic()
            fcntl.flock(handle, fcntl.LOCK_EX)
            on_progress(0.0, f"waited {time.monotonic() - started:.0f} s for environment {name}")
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def python_of(environment: Environment | None, cache: Path) -> Path | None:
    """Interpreter of an engine's own environment, made when it is not there yet; None = it lives in this Python."""
    return None if environment is None else ensure(environment, cache, lambda _fraction, _text: None)
