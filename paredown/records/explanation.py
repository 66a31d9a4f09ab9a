"""Why a verdict came out as it did: items that flipped, texts that drifted, groups that suffer, layers that lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Flip:
    """An item that baseline and candidate score differently; both answers are in the evaluations of its split."""

    item: str
    split: str
    slice: str
    baseline: float
    candidate: float

    @property
    def lost(self) -> bool:
        return self.candidate < self.baseline


@dataclass(frozen=True)
class Choice:
    """A token that one side would write next. Probabilities are of each side; None = not known.

    text: empty for a token without text, such as the one that ends an answer
    """

    token: int
    text: str
    by_baseline: float | None
    by_candidate: float | None


@dataclass(frozen=True)
class DriftedText:
    """A text on which the candidate is far from the baseline, split at the first token on which they differ.

    mean_kl, max_kl: nats over `positions`; None = not measured
    first:   index of that token among the compared positions; None = none differs, and `before` is the whole text
    written: the text's own token there; on the baseline's own answers it is the baseline's choice
    own_answer: what the candidate answered by itself, where it was asked
    """

    id: str
    slice: str
    positions: int
    mean_kl: float | None
    max_kl: float | None
    top1_agreement: float
    first: int | None
    before: str = ""
    written: str = ""
    after: str = ""
    baseline: Choice | None = None
    candidate: Choice | None = None
    own_answer: str = ""


@dataclass(frozen=True)
class Group:
    """The items that share one value of a tag. A pointer to where it hurts, never a verdict.

    drop, low, high: baseline minus candidate (fraction) with one-sided 95 % limits
    p_value: of "nothing changed here", two-sided, corrected by Holm over all groups of the candidate
    """

    tag: str
    value: str
    n: int
    lost: int
    gained: int
    drop: float
    low: float
    high: float
    p_value: float

    @property
    def suffers(self) -> bool:
        return self.drop > 0 and self.p_value <= 0.05


@dataclass(frozen=True)
class PromptTokens:
    """Tokens of the rendered prompt by item, with the source model's own tokenizer."""

    tokens: Mapping[str, int]


@dataclass(frozen=True)
class Explanation:
    """What a run says of one candidate without measuring anything more.

    compared: items that have a score on both sides, of both splits
    drifted:  worst first; `drifted_missing` says why there are none
    scorers:  what a scorer says on all its scores (a judge's agreement with itself), by scorer
    """

    candidate: str
    compared: int
    flips: tuple[Flip, ...]
    drifted: tuple[DriftedText, ...]
    groups: tuple[Group, ...]
    scorers: Mapping[str, str] = field(default_factory=dict)
    drifted_missing: str = ""


@dataclass(frozen=True)
class BlockLoss:
    """What one part of the model loses when only its weights are the candidate's.

    name:     `block 7`, `embedding`, `head`, `rest` (norms and whatever else lies outside the blocks)
    mean_kl:  nats per token
    weights:  how many weights were replaced
    relative_error: ‖candidate − baseline‖ / ‖baseline‖ over them
    """

    name: str
    mean_kl: float
    weights: int
    relative_error: float


@dataclass(frozen=True)
class Sensitivity:
    """Leave-one-layer sensitivity: the baseline in fp32 with the candidate's weights put in, one part at a time.

    parts:      in the model's order
    whole_kl:   with all of them at once; less than the candidate's own KL where its engine rounds more than weights
    sum_kl:     of the parts alone; far from `whole_kl` = losses that add up to more, or cancel
    not_read:   tensors of the model that the candidate's files do not give back
    missing:    why there is no figure, else empty
    """

    candidate: str
    parts: tuple[BlockLoss, ...] = ()
    whole_kl: float | None = None
    texts: int = 0
    positions: int = 0
    seconds: float = 0.0
    not_read: tuple[str, ...] = ()
    missing: str = ""

    @property
    def sum_kl(self) -> float:
        return sum(part.mean_kl for part in self.parts)
