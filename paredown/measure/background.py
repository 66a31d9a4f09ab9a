"""What else kept the machine busy during a block, and whether the processor was throttled."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Busy:
    """Processor time since boot, in clock ticks. `throttles` counts thermal events; None = not told."""

    total_ticks: int
    all_busy_ticks: int
    our_ticks: int
    throttles: int | None


def read_busy(processes: Iterable[int], proc: Path = PROC, cpus: Path = CPUS) -> Busy | None:
    """The state now; `processes` are the engine's, this one is added. None where the kernel does not say."""
    try:
        fields = [int(word) for word in (proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    idle = fields[3] + fields[4]
    ours = sum(_process_ticks(process, proc) for process in {os.getpid(), *processes})
    return Busy(sum(fields), sum(fields) - idle, ours, _throttles(cpus))


def background_load(before: Busy | None, after: Busy | None) -> float | None:
    """Share of all cores that others kept busy in between, 0…1; None = not known."""
    if before is None or after is None or after.total_ticks <= before.total_ticks:
        return None
    busy = after.all_busy_ticks - before.all_busy_ticks
    others = busy - (after.our_ticks - before.our_ticks)
    return min(1.0, max(0.0, others / (after.total_ticks - before.total_ticks)))


def throttling_note(before: Busy | None, after: Busy | None) -> str:
    """A sentence when the processor lowered its clock for heat, else empty."""
    if before is None or after is None or before.throttles is None or after.throttles is None:
        return ""
    events = after.throttles - before.throttles
    return f"the processor was throttled for heat {events} times" if events > 0 else ""


def _process_ticks(process: int, proc: Path) -> int:
    try:
        # The command's name is in parentheses and may hold spaces; user and system time are fields 14 and 15.
        after_name = (proc / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(after_name[11]) + int(after_name[12])


def _throttles(cpus: Path) -> int | None:
    counts = []
    for path in cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        try:
            counts.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return sum(counts) if counts else None
