"""What every stage of a run shares."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from paredown import environments, registry
from paredown.evaluate.golden import GoldenSet
from paredown.evaluate.scoring import Settings
from paredown.evaluate.twins import Twinned
from paredown.flow.progress import Progress
from paredown.hosts import launch
from paredown.hosts.running import RunningEngine
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate
from paredown.records.golden import GoldenItem
from paredown.records.machine import Ceilings, Machine
from paredown.records.traffic import Traffic
from paredown.records.verdict import Margin, Target
from paredown.spec.schema import RunSpec
from paredown.store.run_store import RunStore

START_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class RunContext:
    """A run that is under way: what was asked, where it is kept, where it reports to."""

    spec: RunSpec
    directory: Path
    cache: Path
    store: RunStore
    progress: Progress
    deadline_s: float | None = None

    def out_of_time(self) -> bool:
        """Whether the time budget of the search is used up."""
        return self.deadline_s is not None and time.monotonic() > self.deadline_s

    @property
    def device(self) -> str:
        return "cpu" if self.spec.device == "auto" else self.spec.device

    def starter(self, candidate: Candidate) -> Callable[[], RunningEngine]:
        """Starts a fresh process of the candidate's engine each time it is called."""
        engine = registry.engine(candidate.engine)

        def start() -> RunningEngine:
            return launch.start(
                engine,
                candidate,
                self.directory / "work",
                timeout_s=START_TIMEOUT_S,
                device=self.device,
                python=environments.python_of(engine.environment, self.cache),
            )

        return start


@dataclass(frozen=True)
class Prepared:
    """What is known before anything is measured. The first traffic is the one on which targets are judged.

    golden:  as the user gave it; `screening` and `confirmation` hold its items as they are asked
    scorers: settings of scorers, by name
    twinned: slices that are asked as choices, once that is decided
    """

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
    scorers: Settings = field(default_factory=dict)
    twinned: Twinned = field(default_factory=Twinned)

    def items(self, split: str) -> tuple[GoldenItem, ...]:
        """The items of `screening` or `confirmation`."""
        return {"screening": self.screening, "confirmation": self.confirmation}[split]
