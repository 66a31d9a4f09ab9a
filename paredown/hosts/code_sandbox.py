"""Tests run on code that nobody has read, in processes that are shut in; see shut_in.py for how it cannot be fooled."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.hosts.process import Process

PROTECTIONS = {
    "network": "no network",
    "writing": "no writing outside an empty directory",
    "reading": "no reading outside Python's own files",
    "processes": "no new processes",
    "signals": "no signals to others",
}
"""What `isolation.observed` looks for, and how it is said."""

# What Python itself must be able to read; on top of the directory that it is installed in.
READABLE = ("/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom")


@dataclass(frozen=True)
class Program:
    """sources: readings of an answer, the first that is Python is taken · name: the function that is called ·
    head: code that the tests may rely on · tests: code that calls the function, or defines `check(candidate)`
    """

    sources: tuple[str, ...]
    name: str
    head: str
    tests: str


@dataclass(frozen=True)
class Limits:
    """Of each of the two processes, but `wall_s`: of everything."""

    cpu_s: int = 5
    wall_s: float = 20.0
    memory_bytes: int = 1024 * 1024 * 1024
    file_bytes: int = 8 * 1024 * 1024
    disk_bytes: int = 32 * 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """status: `passed`; `failed`, which is the code's fault; `refused`, because a protection that was asked for does
    not hold (`why` names it); or `broken`: nothing is known of the code

    held:    protection → whether it was seen to hold, empty when nobody got so far
    missing: what this machine refused on the way, in its own words
    """

    status: str
    why: str = ""
    held: Mapping[str, bool] | None = None
    missing: tuple[str, ...] = ()


def run(program: Program, limits: Limits = Limits(), *, needed: Sequence[str] = tuple(PROTECTIONS)) -> Outcome:
    """One program, in a directory that goes away. `needed`: what must hold, else the code is not even loaded."""
    if sys.platform == "win32":
        return Outcome("broken", "there is no sandbox for Windows")
    with tempfile.TemporaryDirectory(prefix="paredown-code-") as name:
        directory = Path(name)
        work, outside = directory / "work", directory / "outside"
        work.mkdir()
        outside.write_text("not to be read")
        asked = {
            "sources": program.sources,
            "name": program.name,
            "outside": str(outside),
            "needed": tuple(needed),
            "readable": (*READABLE, sys.base_prefix, sys.base_exec_prefix),
            "parent": os.getpid(),
            "cpu_s": limits.cpu_s,
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "disk_bytes": limits.disk_bytes,
        }
        tests = {"name": program.name, "head": program.head, "tests": program.tests}
        try:
            (directory / "program.json").write_text(json.dumps(asked), encoding="utf-8")
            (directory / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
            return _run(directory, work, limits)
        except OSError as error:
            return Outcome("broken", f"the sandbox could not be started: {error}")


def _run(directory: Path, work: Path, limits: Limits) -> Outcome:
    script = Path(__file__).with_name("shut_in.py")
    argv = (sys.executable, "-I", "-S", "-B", "-X", "utf8", str(script))
    files = (str(directory / "program.json"), str(directory / "tests.json"))
    process = Process((*argv, *files), cwd=work, log=directory / "log", environment={})
    try:
        in_time = process.wait(limits.wall_s)
        if not in_time and process.alive():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(limits.wall_s)
        # Two short lines at most: they wait in the pipe.
        said = process.stdout.read()
    finally:
        process.close()
    return _outcome(said, process, limits, in_time=in_time)


def _outcome(said: bytes, process: Process, limits: Limits, *, in_time: bool) -> Outcome:
    messages: dict[str, dict[str, Any]] = {}
    for line in said.splitlines():
        message = json.loads(line)
        messages[message["event"]] = message
    ready, done = messages.get("ready", {}), messages.get("done")
    held, missing = ready.get("held"), tuple(ready.get("missing", ()))
    if done is not None:
        return Outcome(done["status"], done["why"], held, missing)
    if not in_time and ready:
        return Outcome("failed", f"the code did not end within {limits.wall_s:g} s", held, missing)
    words = process.log_tail().strip().splitlines()
    last = words[-1] if words else f"its process ended with {process.exit_code}"
    reason = f"not ready within {limits.wall_s:g} s" if not in_time else last
    return Outcome("broken", f"the sandbox failed: {reason}", held, missing)
