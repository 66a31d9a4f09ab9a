"""Golden items, answers, scores, and fidelity to the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paredown.records.figure import Scalar
from paredown.records.traffic import Message


@dataclass(frozen=True)
class GoldenItem:
    """One golden prompt.

    slice:     what the user wants judged together: `reasoning`, `safety` …
    scorer:    name of the scorer
    messages:  the conversation up to the answer; rendered by the artifact's own chat template. Empty: the one choice
               is a text that stands by itself (perplexity)
    choices:   for likelihood scorers: the answers compared; `answer` is the index of the right one as text
    answer:    for generative scorers: what is right, in the scorer's own notation
    arguments: further data of the scorer (JSON schema, tools …)
    cluster:   items that share a document or conversation
    zero_tolerance: any loss on it rejects the candidate
    where:     file and line it came from
    """

    id: str
    slice: str
    scorer: str
    messages: tuple[Message, ...]
    answer: str
    choices: tuple[str, ...] = ()
    max_tokens: int = 32
    tags: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Scalar] = field(default_factory=dict)
    cluster: str = ""
    zero_tolerance: bool = False
    where: str = ""


@dataclass(frozen=True)
class Answer:
    """What one candidate gave for one item.

    choice_logprobs: for each choice the log-probability (nats) of its tokens, and their number beside it
    """

    item: str
    text: str = ""
    token_ids: tuple[int, ...] = ()
    finish_reason: str = ""
    choice_logprobs: tuple[float, ...] = ()
    choice_tokens: tuple[int, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Score:
    """Score of one answer in [0, 1]; None = not scored (`why` says so), which is never counted as 0.

    details: what the scorer wants kept (a judge's two answers, the test that failed)
    """

    item: str
    value: float | None
    why: str = ""
    details: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """One candidate's answers and scores on one split of the golden sets, in the order of the items."""

    candidate: str
    split: str
    scorer_versions: Mapping[str, int]
    answers: tuple[Answer, ...]
    scores: tuple[Score, ...]
    prefill_tokens: int
    generated_tokens: int
    seconds: float
    batch_policy: str = ""


@dataclass(frozen=True)
class FidelityText:
    """A text on which fidelity is measured: the baseline's own greedy answer, or plain text.

    token_ids: whole sequence; positions from `start` on are compared
    top_ids, top_logprobs: the baseline's top-k at each compared position, shape (positions, k), nats
    """

    id: str
    slice: str
    token_ids: tuple[int, ...]
    start: int
    top_ids: tuple[tuple[int, ...], ...] = ()
    top_logprobs: tuple[tuple[float, ...], ...] = ()
    text: str = ""


@dataclass(frozen=True)
class TextFidelity:
    """Fidelity on one text: per-position KL (nats, a lower bound from top-k and the tail's mass) and top-1 matches."""

    id: str
    slice: str
    kl: tuple[float, ...]
    same_top1: tuple[bool, ...]
    first_divergence: int | None


@dataclass(frozen=True)
class Fidelity:
    """KL(P_baseline ‖ P_candidate) per token and top-1 agreement on the same positions, teacher-forced."""

    candidate: str
    level: str
    texts: tuple[TextFidelity, ...]
    top_k: int
    mean_kl: float | None
    p99_kl: float | None
    max_kl: float | None
    top1_agreement: float | None
    positions: int
    missing: str = ""


@dataclass(frozen=True)
class Check:
    """One check of the smoke gate. `passed is None` = could not be made (`detail` says why)."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True)
class Smoke:
    """Loads, answers coherently, something was really changed, the artifact reloads to the same tokens."""

    candidate: str
    checks: tuple[Check, ...]
    answers: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not any(check.passed is False for check in self.checks)
