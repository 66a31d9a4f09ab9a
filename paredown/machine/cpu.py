"""Name, instruction sets, cores and last-level cache of the processor."""

from __future__ import annotations

import math
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from paredown.machine import cgroup

CPUINFO = Path("/proc/cpuinfo")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

# Those that decide which kernels a library picks.
RELEVANT = (
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "avx_vnni",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "asimd",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
    "sve2",
)


@dataclass(frozen=True)
class Processor:
    name: str
    instruction_sets: tuple[str, ...]


def read(cpuinfo: Path = CPUINFO) -> Processor:
    """From `/proc/cpuinfo`; where there is none, the name alone."""
    fields: dict[str, str] = {}
    if cpuinfo.exists():
        for line in cpuinfo.read_text().split("\n\n")[0].splitlines():
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields:
        name += f" (family {fields['cpu family']}, model {fields.get('model', '?')})"
    return Processor(name, tuple(flag for flag in RELEVANT if flag in flags))


def usable_cores() -> int:
    """Cores that this process may run on and has time for: affinity and control group, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup.cpu_quota_cores()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def last_level_cache_bytes(caches: Path = CACHES) -> int | None:
    """Size of the largest cache that the first core sees; None where the kernel does not say."""
    sizes = []
    for size in caches.glob("index*/size"):
        match = re.fullmatch(r"(\d+)([KMG]?)", size.read_text().strip())
        if match:
            sizes.append(int(match[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[match[2]])
    return max(sizes, default=None)
