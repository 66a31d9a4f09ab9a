"""What else kept the machine busy during a block, and whether the processor was held back."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from paredown.machine import cgroup

PROC = Path("/proc")
CPUS = Path("/sys/devices/system/cpu")
NOTABLE_STEAL = 0.02
"""Share of all processor time; below it is what every virtual machine loses."""
NOTABLE_FREQUENCY_DROP = 0.10


@dataclass(frozen=True)
class Busy:
    """Processor time since boot, in clock ticks.

    throttles:     thermal events; None = not told, as in most containers
    steal_ticks:   time that the host gave to other virtual machines; in `all_busy_ticks` too
    quota:         periods in which a quota of the control group held processes back, and for how long; None = no quota
    frequency_khz: of the fastest core now; None = not told
    """

    total_ticks: int
    all_busy_ticks: int
    our_ticks: int
    throttles: int | None
    steal_ticks: int = 0
    quota: cgroup.Throttled | None = None
    frequency_khz: int | None = None


def read_busy(processes: Iterable[int], proc: Path = PROC, cpus: Path = CPUS) -> Busy | None:
    """The state now; `processes` are the engine's, this one is added. None where the kernel does not say."""
    try:
        fields = [int(word) for word in (proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
        idle = fields[3] + fields[4]
    except (OSError, ValueError, IndexError):
        return None
    return Busy(
        total_ticks=sum(fields),
        all_busy_ticks=sum(fields) - idle,
        our_ticks=sum(_process_ticks(process, proc) for process in {os.getpid(), *processes}),
        throttles=_sum(cpus, "cpu[0-9]*/thermal_throttle/core_throttle_count"),
        steal_ticks=fields[7] if len(fields) > 7 else 0,
        quota=cgroup.cpu_throttled() if proc == PROC else None,
        frequency_khz=max(_numbers(cpus, "cpu[0-9]*/cpufreq/scaling_cur_freq"), default=None),
    )


def background_load(before: Busy | None, after: Busy | None) -> float | None:
    """Share of all cores that others kept busy in between, 0…1; None = not known."""
    if before is None or after is None or after.total_ticks <= before.total_ticks:
        return None
    busy = after.all_busy_ticks - before.all_busy_ticks
    others = busy - (after.our_ticks - before.our_ticks)
    return min(1.0, max(0.0, others / (after.total_ticks - before.total_ticks)))


def throttling_note(before: Busy | None, after: Busy | None) -> str:
    """What held the processor back in between, as clauses with `; ` between them; empty when nothing was seen."""
    if before is None or after is None:
        return ""
    return "; ".join(
        filter(None, (_heat(before, after), _quota(before, after), _steal(before, after), _frequency(before, after)))
    )


def _heat(before: Busy, after: Busy) -> str:
    if before.throttles is None or after.throttles is None or after.throttles <= before.throttles:
        return ""
    return f"the processor was throttled for heat {after.throttles - before.throttles} times"


def _quota(before: Busy, after: Busy) -> str:
    if before.quota is None or after.quota is None or after.quota.periods <= before.quota.periods:
        return ""
    seconds = (after.quota.usec - before.quota.usec) / 1e6
    times = after.quota.periods - before.quota.periods
    return f"the container's CPU quota stopped it in {times} periods, {seconds:.2f} s in all"


def _steal(before: Busy, after: Busy) -> str:
    total = after.total_ticks - before.total_ticks
    share = (after.steal_ticks - before.steal_ticks) / total if total > 0 else 0.0
    return f"the host gave {share:.0%} of the processor time to other machines" if share > NOTABLE_STEAL else ""


def _frequency(before: Busy, after: Busy) -> str:
    if not before.frequency_khz or not after.frequency_khz:
        return ""
    if after.frequency_khz >= (1.0 - NOTABLE_FREQUENCY_DROP) * before.frequency_khz:
        return ""
    slower, faster = (khz / 1e6 for khz in (after.frequency_khz, before.frequency_khz))
    return f"the fastest core ran at {slower:.2f} GHz at the end and at {faster:.2f} GHz at the beginning"


def _process_ticks(process: int, proc: Path) -> int:
    try:
        # The command's name is in parentheses and may hold spaces; user and system time are fields 14 and 15.
        after_name = (proc / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(after_name[11]) + int(after_name[12])


def _sum(root: Path, pattern: str) -> int | None:
    numbers = _numbers(root, pattern)
    return sum(numbers) if numbers else None


def _numbers(root: Path, pattern: str) -> list[int]:
    found = []
    for path in root.glob(pattern):
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return found
