"""The report's view model: everything that the HTML, Markdown, terminal and JSON reports may look at.

It is made of records and plain strings, so that the flow (or `paredown report RUN`) builds it from a store without
computing anything. A part that is not there is `None` or empty, and the report then says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.audit import Finding
from paredown.records.bottleneck import Placement
from paredown.records.candidate import PlannedCandidate
from paredown.records.explanation import Explanation, Sensitivity
from paredown.records.figure import Figure, Samples, Scalar
from paredown.records.golden import Fidelity, GoldenItem
from paredown.records.machine import Ceilings, Machine
from paredown.records.verdict import CandidateVerdict, Decision

DECODE_SPEED = "decode_speed"
WEIGHT_BYTES = "weight_bytes"
DISK_BYTES = "disk_bytes"
PEAK_MEMORY = "peak_memory"
COST = "cost"
QUALITY_DROP = "quality_drop"

BASELINE = "baseline"
"""The name under which placements, forests and tooltips show the model as it is."""


@dataclass(frozen=True)
class TrafficFact:
    """A traffic profile as asked for: name, one sentence, load shape and its concurrency (None = open loop)."""

    name: str
    summary: str
    load_shape: str
    concurrency: int | None
    requests: int


@dataclass(frozen=True)
class GoldenFact:
    """One golden source as asked for: where it came from, how many items, digest of the items."""

    source: str
    items: int
    digest: str


@dataclass(frozen=True)
class Asked:
    """What the user asked. `targets` as they were written; `notes` are defaults that were filled in, as sentences."""

    model: str
    targets: tuple[str, ...]
    traffic: tuple[TrafficFact, ...]
    golden: tuple[GoldenFact, ...]
    seed: int
    command: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnderTraffic:
    """What was measured under one traffic. `samples`: `ttft`, `itl`, `e2e` in seconds, one value per request or token.

    void: why the figures may not be used, else empty
    """

    traffic: str
    figures: tuple[Figure, ...] = ()
    samples: tuple[Samples, ...] = ()
    void: str = ""


@dataclass(frozen=True)
class Measured:
    """One served model, the baseline or a candidate: what it is and what was measured of it.

    figures: those that hold whatever the traffic (`weight_bytes`, `disk_bytes`, `startup` …), and those of the
             main traffic (`decode_speed` …), by which the candidates are compared
    under:   per traffic, the main one first
    """

    name: str
    engine: str
    artifact: Artifact | None = None
    figures: tuple[Figure, ...] = ()
    under: tuple[UnderTraffic, ...] = ()
    placements: tuple[Placement, ...] = ()

    def figure(self, name: str) -> Figure | None:
        """The figure of that name (`ttft_p95`, `weight_bytes`), from the main ones, else under the first traffic.

        Sizes that nobody computed are read off the artifact: they are known even when its engine never started.
        """
        for figures in (self.figures, *(u.figures for u in self.under[:1])):
            for figure in figures:
                if figure.name == name:
                    return figure
        if self.artifact is not None and name in (WEIGHT_BYTES, DISK_BYTES):
            return Figure(name, "B", float(getattr(self.artifact, name)), 1)
        return None


@dataclass(frozen=True)
class CandidateView:
    """One candidate: what was planned, what was measured, how it was judged, and why.

    fidelity:    None = gate not reached
    explanation: None = it was not asked anything that could be explained
    sensitivity: None = nobody has asked which layers carry the loss (`paredown explain`)
    """

    planned: PlannedCandidate
    verdict: CandidateVerdict
    measured: Measured
    fidelity: Fidelity | None = None
    explanation: Explanation | None = None
    sensitivity: Sensitivity | None = None

    @property
    def name(self) -> str:
        return self.planned.name


@dataclass(frozen=True)
class AnswerView:
    """One answer as it is shown: the text, or for likelihood items log-probabilities (nats) of the choices."""

    text: str = ""
    choice_logprobs: tuple[float, ...] = ()
    score: float | None = None
    failure: str = ""


@dataclass(frozen=True)
class WorstAnswer:
    """An item that a candidate scored otherwise than the baseline, both answers side by side.

    gained: it did better there
    """

    candidate: str
    item: GoldenItem
    baseline: AnswerView
    answer: AnswerView
    gained: bool = False


@dataclass(frozen=True)
class AlphaSpent:
    """The error budget of a run. spent: level of each confirmation that was made; next: of the next one"""

    total: float
    spent: tuple[float, ...]
    next: float


@dataclass(frozen=True)
class RunRecord:
    """What the decision rests on, and how somebody else checks it.

    started, finished: ISO 8601 with the time zone
    settings: margins, gates, budgets …; seeds and digests by name; `root_digest` covers them all
    """

    run_id: str
    root_digest: str
    path: str
    started: str
    finished: str
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportView:
    """A run, ready to be shown.

    model:       facts of the source model; `model.caution` is shown prominently
    noise_floor: the A/A control, the baseline against itself: figures whose `metric` names what was compared
    candidates:  in the order of the ladder, also those that failed
    worst:       answers that changed: of each candidate the worst losses first, then gains
    findings:    what the audit of prompts, tokenizer and calibration data found
    alpha:       None = no confirmation was made
    decision:    its `candidates` are the verdicts; its `left_out` is what the plan did not try
    notes:       sentences on the course of the run ("stopped after the 8-bit rung: the targets were met")
    """

    asked: Asked
    model: ModelFacts
    machine: Machine
    ceilings: Ceilings | None
    baseline: Measured
    candidates: tuple[CandidateView, ...]
    decision: Decision
    record: RunRecord
    noise_floor: tuple[Figure, ...] = ()
    worst: tuple[WorstAnswer, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    alpha: AlphaSpent | None = None

    def candidate(self, name: str | None) -> CandidateView | None:
        return next((c for c in self.candidates if c.name == name), None)

    @property
    def choice(self) -> CandidateView | None:
        """The candidate that the decision is about: the recommended one, else the one that comes closest."""
        return self.candidate(self.decision.recommended or self.decision.closest)

    @property
    def chosen(self) -> str:
        """What the choice is called: `chosen`, or `closest` when nothing is recommended."""
        return "chosen" if self.decision.recommended else "closest"
