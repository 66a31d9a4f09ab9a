"""Limits that a container or a service manager puts on this process (control groups, version 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# Version 1 writes "no limit" as the largest page-aligned number.
_NO_LIMIT_BYTES = 1 << 60


def memory_limit_bytes(root: Path = ROOT, membership: Path = MEMBERSHIP) -> int | None:
    """The smallest memory limit on the way up the hierarchy; None = no limit."""
    texts = _values("memory", ("memory.max", "memory.limit_in_bytes"), root, membership)
    return min((int(text) for text in texts if text.isdigit() and int(text) < _NO_LIMIT_BYTES), default=None)


def cpu_quota_cores(root: Path = ROOT, membership: Path = MEMBERSHIP) -> float | None:
    """How many cores' worth of time may be used; None = no limit."""
    quotas = []
    for text in _values("cpu", ("cpu.max",), root, membership):
        quota, period = text.split()
        if quota != "max":
            quotas.append(int(quota) / int(period))
    for directory in _directories("cpu", root, membership):
        quota_us, period_us = _read(directory / "cpu.cfs_quota_us"), _read(directory / "cpu.cfs_period_us")
        if quota_us and period_us and int(quota_us) > 0:
            quotas.append(int(quota_us) / int(period_us))
    return min(quotas, default=None)


@dataclass(frozen=True)
class Throttled:
    """How often a CPU quota held the processes of a control group back since it was made, and for how long in all."""

    periods: int
    usec: int


def cpu_throttled(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Throttled | None:
    """Over the hierarchy, the level that held back longest; None where no level counts it."""
    found = []
    for text in _values("cpu", ("cpu.stat",), root, membership):
        fields = {name: int(value) for name, value in (line.split() for line in text.splitlines() if " " in line)}
        # Version 1 counts nanoseconds as `throttled_time`.
        usec = fields.get("throttled_usec", fields.get("throttled_time", 0) // 1000)
        if "nr_throttled" in fields:
            found.append(Throttled(fields["nr_throttled"], usec))
    return max(found, key=lambda level: level.usec, default=None)


def _values(controller: str, names: tuple[str, ...], root: Path, membership: Path) -> Iterator[str]:
    for directory in _directories(controller, root, membership):
        for name in names:
            text = _read(directory / name)
            if text:
                yield text


def _directories(controller: str, root: Path, membership: Path) -> Iterator[Path]:
    for line in _read(membership).splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            top = root
        elif controller in controllers.split(","):
            top = root / controllers if (root / controllers).is_dir() else root / controller
        else:
            continue
        directory = top / path.lstrip("/")
        yield from (parent for parent in (directory, *directory.parents) if parent.is_relative_to(top))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
