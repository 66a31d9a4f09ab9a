"""`paredown doctor`: what works on this machine, what is missing, and what to type."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from paredown import registry
from paredown.cli.output import emit_json, table
from paredown.environments.installed import missing

ENOUGH_DISK_BYTES = 10 * 10**9
BUSY_LOAD_PER_CORE = 0.5


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `ok is None` = works, but worth knowing."""

    what: str
    ok: bool | None
    detail: str


@click.command("doctor")
@click.option("--cache", type=click.Path(path_type=Path), help="Cache directory to check.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(cache: Path | None, as_json: bool) -> int:
    """Check this machine for a run. Changes nothing. Exit status 1 when a run cannot work here."""
    from paredown.spec.schema import default_cache

    found = findings(cache or default_cache())
    if as_json:
        emit_json(found)
    else:
        marks = {True: "ok", None: "note", False: "FAILS"}
        table(["", "what", "found"], [(marks[f.ok], f.what, f.detail) for f in found])
    return 1 if any(f.ok is False for f in found) else 0


def findings(cache: Path) -> list[Finding]:
    """Everything that `doctor` looks at, most basic first."""
    return [_python(), *_machine(), _disk(cache), _quiet(), *_engines(), *_environments(cache)]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", sys.version_info >= (3, 11), f"{version} at {sys.executable}")


def _machine() -> list[Finding]:
    from paredown import machine

    host = machine.describe()
    energy = host.energy_counter or "none: energy will be reported as not measured"
    graphics = ", ".join(a.name for a in host.accelerators) or "none"
    return [
        Finding("processor", ok=True, detail=f"{host.processor}, {host.usable_cores} usable cores"),
        Finding("instruction sets", ok=None, detail=", ".join(host.instruction_sets) or "unknown"),
        Finding("memory", ok=True, detail=f"{host.memory_bytes / 2**30:.1f} GiB"),
        Finding("GPU", ok=None, detail=graphics),
        Finding("energy counter", True if host.energy_counter else None, energy),
    ]


def _disk(cache: Path) -> Finding:
    existing = next(p for p in (cache, *cache.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    ok = os.access(existing, os.W_OK) and (True if free >= ENOUGH_DISK_BYTES else None)
    writable = "" if os.access(existing, os.W_OK) else " and is not writable: choose another with --cache"
    return Finding("cache", ok, f"{cache}: {free / 1e9:.0f} GB free{writable}")


def _quiet() -> Finding:
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    if busy < BUSY_LOAD_PER_CORE:
        return Finding("background load", ok=True, detail=f"{busy:.0%} of the cores busy in the last minute")
    detail = f"{busy:.0%} of the cores busy: timings will be noisy; stop other work"
    return Finding("background load", ok=None, detail=detail)


def _engines() -> list[Finding]:
    found = []
    for engine in registry.engines():
        reason = missing(engine.needs)
        found.append(Finding(f"engine {engine.name}", None if reason else True, reason or "can run here"))
    return found


def _environments(cache: Path) -> list[Finding]:
    from paredown.cli.env import declared
    from paredown.environments import locate

    return [
        Finding(
            f"environment {e.name}", None, str(locate(e, cache) or "made on first use, or now: paredown env " + e.name)
        )
        for e in declared().values()
    ]
