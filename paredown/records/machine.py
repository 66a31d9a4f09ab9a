"""What the host is, and what it was measured to be able to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Accelerator:
    """One GPU as its driver describes it."""

    name: str
    memory_bytes: int
    driver: str
    compute_capability: str = ""


@dataclass(frozen=True)
class Bandwidth:
    """Read bandwidth at one working-set size, all threads together."""

    working_set_bytes: int
    bytes_per_second: float


@dataclass(frozen=True)
class MatrixRate:
    """Matrix multiplication rate for one data type, all threads together (2 operations per multiply-add)."""

    dtype: str
    operations_per_second: float


@dataclass(frozen=True)
class Ceilings:
    """Measured, not looked up. `missing` lists what could not be measured, with the reason."""

    bandwidth: tuple[Bandwidth, ...]
    matrix: tuple[MatrixRate, ...]
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Machine:
    """The host of a run. `energy_counter` is empty where there is none."""

    hostname_digest: str
    system: str
    processor: str
    logical_cores: int
    usable_cores: int
    instruction_sets: tuple[str, ...]
    memory_bytes: int
    accelerators: tuple[Accelerator, ...]
    versions: Mapping[str, str]
    energy_counter: str = ""
    last_level_cache_bytes: int | None = None
