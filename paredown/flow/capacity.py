"""`capacity`: the largest request rate and the largest concurrency at which one model or server keeps every target."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from paredown.errors import UserError
from paredown.flow import measuring
from paredown.flow.measuring import LoadAsked
from paredown.flow.progress import Progress, Stage
from paredown.flow.subject import Subject
from paredown.measure import capacity_run
from paredown.measure.capacity_run import CapacitySettings
from paredown.records.measurement import Capacity, CapacityPoint, Measurement
from paredown.store.run_store import RunStore

AXES = ("request_rate", "concurrency")


@dataclass(frozen=True)
class CapacityAsked:
    """axes: any of AXES; seconds: of each run; first, largest: loads at which the search begins and gives up."""

    axes: tuple[str, ...] = AXES
    seconds: float = 20.0
    runs: int = 3
    first: float | None = None
    largest: float | None = None
    precision: float = 0.1


def find(
    subject: Subject,
    load: LoadAsked,
    asked: CapacityAsked,
    store: RunStore,
    progress: Progress,
    command: str,
) -> Measurement:
    """One Capacity for each axis, under the first traffic. Raises UserError without a target."""
    targets = measuring.targets_of(subject, load)
    if not targets:
        raise UserError(
            "A capacity is the largest load that keeps a target. Give one, for example --target 'ttft_p95<=500ms'."
        )
    (traffic, *_) = measuring.read_traffics(subject, replace(load, load=None))
    found: list[Capacity] = []
    settings = _settings(asked, load)
    for axis in asked.axes:
        with progress.stage(f"Largest {axis.replace('_', ' ')} under {traffic.name}") as stage:
            made = capacity_run.find(
                subject.start, traffic, targets, axis=axis, settings=settings, on_point=_telling(stage, axis)
            )
        progress.note(made.sentence)
        store.put("capacity", axis, made, bulk=True)
        found.append(made)
    whole = replace(measuring.begun(subject, command), capacities=tuple(found))
    store.put("measurement", "capacity", whole, bulk=True)
    return whole


def asked(flags: Mapping[str, Any]) -> CapacityAsked:
    """From the command line's flags, where None or an empty tuple was not given."""
    return CapacityAsked(
        axes=tuple(dict.fromkeys(flags["axes"])) or AXES,
        seconds=flags["seconds"],
        runs=flags["runs"],
        first=flags["first"],
        largest=flags["largest"],
    )


def _settings(asked: CapacityAsked, load: LoadAsked) -> CapacitySettings:
    defaults = CapacitySettings()
    return replace(
        defaults,
        seconds=asked.seconds,
        runs=asked.runs,
        precision=asked.precision,
        first=asked.first or defaults.first,
        largest=asked.largest or defaults.largest,
        timeout_s=load.timeout_s,
        forced_lengths=load.forced_lengths,
        seed=load.seed,
    )


def _telling(stage: Stage, axis: str) -> Callable[[CapacityPoint], None]:
    """Each finished load in words; how many there will be is not known, so the bar only comes closer to its end."""
    count = itertools.count(1)

    def tell(point: CapacityPoint) -> None:
        unit = "requests/s" if axis == "request_rate" else "in flight"
        kept = f"{point.met} of {point.runs} runs kept every target"
        stage.update(1.0 - 0.8 ** next(count), f"{point.load:g} {unit}: {kept}")

    return tell
