"""Hardware energy counters: RAPL for processors, NVML for GPUs. Where there is none, energy is not measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

POWERCAP = Path("/sys/class/powercap")


class Counter(Protocol):
    """A counter of joules that only grows, up to `wraps_at_joules`."""

    @property
    def source(self) -> str: ...
    @property
    def wraps_at_joules(self) -> float | None: ...
    def read_joules(self) -> float: ...


@dataclass(frozen=True)
class RaplCounter:
    """One package of a processor (`energy_uj`, microjoules)."""

    directory: Path
    source: str
    wraps_at_joules: float | None

    def read_joules(self) -> float:
        return int((self.directory / "energy_uj").read_text()) / 1e6


@dataclass(frozen=True)
class NvmlCounter:
    """Total energy of one GPU since the driver was loaded (millijoules)."""

    index: int
    source: str
    wraps_at_joules: float | None = None

    def read_joules(self) -> float:
        import pynvml

        handle = pynvml.nvmlDeviceGetHandleByIndex(self.index)
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3


def find(powercap: Path = POWERCAP) -> tuple[Counter, ...]:
    """Every counter that can be read by this user."""
    return (*_rapl(powercap), *_nvml())


def name(counters: Sequence[Counter]) -> str:
    """What the counters are, for the record; empty where there is none."""
    return ", ".join(counter.source for counter in counters)


def used_joules(counter: Counter, before: float, after: float) -> float:
    """The difference, with one wrap allowed for."""
    if after >= before:
        return after - before
    if counter.wraps_at_joules is None:
        raise ValueError(f"The energy counter {counter.source} went backwards.")
    return after - before + counter.wraps_at_joules


def _rapl(powercap: Path) -> tuple[Counter, ...]:
    found: list[Counter] = []
    # Sub-domains (core, dram) are named intel-rapl:0:0 and are parts of the package or readable apart from it.
    for directory in sorted(powercap.glob("intel-rapl:[0-9]*")):
        if directory.name.count(":") != 1:
            continue
        try:
            domain = (directory / "name").read_text().strip()
            wraps_at = int((directory / "max_energy_range_uj").read_text()) / 1e6
            counter = RaplCounter(directory, f"RAPL {domain}", wraps_at)
            counter.read_joules()
        except (OSError, ValueError):
            continue
        found.append(counter)
    return tuple(found)


def _nvml() -> tuple[Counter, ...]:
    try:
        import pynvml
    except ImportError:
        return ()
    found: list[Counter] = []
    try:
        pynvml.nvmlInit()
        for index in range(pynvml.nvmlDeviceGetCount()):
            counter = NvmlCounter(index, f"NVML GPU {index}")
            counter.read_joules()
            found.append(counter)
    except pynvml.NVMLError:
        return tuple(found)
    return tuple(found)
