"""Steps, proposals and candidates: what is tried, and what was left out and why."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from paredown.records.artifact import Artifact
from paredown.records.codec import digest
from paredown.records.figure import Options


class Rung(enum.IntEnum):
    """The ladder, in the order in which it is climbed."""

    BASELINE = 0
    LOSSLESS = 1
    EIGHT_BIT = 2
    FOUR_BIT = 3
    STRUCTURE = 4
    TRAINING = 5


@dataclass(frozen=True)
class Prediction:
    """What a technique expects before anything ran; shown later beside what was measured. None = no claim."""

    weight_bytes: int | None = None
    decode_speed_ratio: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Step:
    """One technique with every option written out.

    role:   the role of the artifact it makes: `main`, or for example `draft`
    source: the role it reads
    """

    technique: str
    options: Options = field(default_factory=dict)
    role: str = "main"
    source: str = "main"


@dataclass(frozen=True)
class Proposal:
    """A technique's offer, before it is bound to an engine by the plan.

    steps:          in order; empty = the source model itself
    format:         artifact format after the last step
    engine_options: options that the engine must take for this proposal (merged over the engine's defaults)
    """

    name: str
    rung: Rung
    steps: tuple[Step, ...]
    format: str
    reason: str
    engine_options: Options = field(default_factory=dict)
    prediction: Prediction = Prediction()
    adjustments: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """Work that is not done, with its reason. Skipped work is a result."""

    name: str
    rung: Rung
    reason: str


@dataclass(frozen=True)
class PlannedCandidate:
    """A proposal bound to an engine: what will be made and run."""

    name: str
    rung: Rung
    engine: str
    engine_options: Options
    steps: tuple[Step, ...]
    format: str
    reason: str
    prediction: Prediction = Prediction()
    adjustments: tuple[str, ...] = ()
    same_engine_wide: str = ""


@dataclass(frozen=True)
class Plan:
    """Candidates in ladder order, and everything left out with its reason."""

    candidates: tuple[PlannedCandidate, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Candidate:
    """The resolved record: artifacts by role (none for somebody else's endpoint), engine and every option."""

    name: str
    rung: Rung
    engine: str
    engine_options: Options
    artifacts: Mapping[str, Artifact]
    steps: tuple[Step, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def main(self) -> Artifact:
        return self.artifacts["main"]

    def digest(self) -> str:
        """Digest of everything that decides what is served; artifacts by content, not by path."""
        return digest(
            {
                "engine": self.engine,
                "engine_options": self.engine_options,
                "artifacts": {role: artifact.digest for role, artifact in self.artifacts.items()},
                "versions": self.versions,
            }
        )
