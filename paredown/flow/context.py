"""What every stage of a run shares."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paredown.contracts import Engine
from paredown.evaluate.golden import GoldenSet
from paredown.flow.progress import Progress
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate
from paredown.records.golden import GoldenItem
from paredown.records.machine import Ceilings, Machine
from paredown.records.traffic import Traffic
from paredown.records.verdict import Margin, Target
from paredown.spec.schema import RunSpec
from paredown.store.run_store import RunStore


@dataclass(frozen=True)
class RunContext:
    """A run that is under way: what was asked, where it is kept, where it reports to."""

    spec: RunSpec
    directory: Path
    cache: Path
    store: RunStore
    progress: Progress
    deadline_s: float | None = None

    def out_of_time(self, needed_s: float = 0.0) -> bool:
        """Whether `needed_s` more seconds would overrun the budget."""
        return self.deadline_s is not None and time.monotonic() + needed_s > self.deadline_s


@dataclass(frozen=True)
class Prepared:
    """What is known before anything is measured."""

    source: Path
    facts: ModelFacts
    artifact: Artifact
    machine: Machine
    ceilings: Ceilings
    targets: tuple[Target, ...]
    margins: tuple[Margin, ...]
    golden: GoldenSet
    screening: tuple[GoldenItem, ...]
    confirmation: tuple[GoldenItem, ...]
    traffics: tuple[Traffic, ...]
    baseline: Candidate
    baseline_engine: Engine
    pythons: Mapping[str, Path] = field(default_factory=dict)

    @property
    def primary(self) -> Traffic:
        """The traffic on which the targets are judged."""
        return self.traffics[0]

    def items(self, split: str) -> Sequence[GoldenItem]:
        """The items of `screening` or `confirmation`."""
        return {"screening": self.screening, "confirmation": self.confirmation}[split]
