"""Techniques: propose steps from facts, and make an artifact from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown.contracts.needs import Environment, Needs, Option
from paredown.records.artifact import Artifact, LayerLeft, ModelFacts
from paredown.records.candidate import LeftOut, Proposal, Rung
from paredown.records.figure import Options
from paredown.records.machine import Machine


@dataclass(frozen=True)
class PlanFacts:
    """All that a technique may know when it proposes: facts, no files opened, nothing heavy imported."""

    model: ModelFacts
    machine: Machine
    chain: tuple[Proposal, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApplyContext:
    """What `apply` gets, in the worker process of the technique's environment.

    sources:     artifacts by role (`main`; a teacher, a draft)
    out:         an empty directory for the new artifact
    checkpoints: survives a kill; a long `apply` resumes from what it finds there
    calibration: JSONL of {"text": …} or {"messages": […]}, None when not asked for
    devices:     devices it may use
    report:      (fraction done 0…1, what it is doing)
    """

    sources: Mapping[str, Artifact]
    out: Path
    options: Options
    checkpoints: Path
    report: Callable[[float, str], None]
    calibration: Path | None = None
    devices: tuple[str, ...] = ("cpu",)
    seed: int = 0


@dataclass(frozen=True)
class Applied:
    """What `apply` says of what it made; sizes and digests are read from the files afterwards, never claimed."""

    layers_left: tuple[LayerLeft, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Technique:
    """Proposes steps from facts (`propose`, pure) and makes an artifact from another (`apply`).

    consumes, produces: artifact formats; the plan finds engines that open what it produces
    apply:   None for a technique that only sets options of the engine
    changes_weights: False on the lossless rung
    trade_off: one paragraph for the user: what it buys, what it costs, when not to use it
    """

    name: str
    summary: str
    trade_off: str
    rung: Rung
    consumes: tuple[str, ...]
    produces: str
    propose: Callable[[PlanFacts], Sequence[Proposal | LeftOut]]
    apply: Callable[[ApplyContext], Applied] | None
    needs: Needs = Needs()
    options: tuple[Option, ...] = ()
    environment: Environment | None = None
    changes_weights: bool = True
    version: int = 1
