"""Energy over a block, from the counters that the machine has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.machine import energy
from paredown.records.events import Energy

# Counters are updated every few milliseconds to tens of milliseconds; shorter spans measure the update.
SHORTEST_SPAN_S = 5.0


@dataclass(frozen=True)
class EnergyReading:
    """Joules of each counter at one moment."""

    at_ns: int
    joules: tuple[float, ...]


def read(counters: Sequence[energy.Counter], now_ns: int) -> EnergyReading:
    return EnergyReading(now_ns, tuple(counter.read_joules() for counter in counters))


def between(counters: Sequence[energy.Counter], before: EnergyReading, after: EnergyReading) -> Energy:
    """Gross energy of everything that the counters see; not measured without a counter or below five seconds."""
    seconds = (after.at_ns - before.at_ns) / 1e9
    if not counters:
        return Energy(None, seconds, missing="this machine has no energy counter that can be read")
    source = energy.name(counters)
    if seconds < SHORTEST_SPAN_S:
        missing = f"the block lasted {seconds:.1f} s and an energy counter needs {SHORTEST_SPAN_S:g} s"
        return Energy(None, seconds, source, missing)
    used = [energy.used_joules(*reading) for reading in zip(counters, before.joules, after.joules, strict=True)]
    return Energy(sum(used), seconds, source)
