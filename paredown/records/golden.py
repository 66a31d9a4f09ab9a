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

    @property
    def unit(self) -> str:
        """What the item stands or falls with: its cluster, else itself."""
        return f"cluster {self.cluster}" if self.cluster else f"item {self.id}"


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
    outage:  not scored because what scores was out of reach, so that asking again later may give a score
    """

    item: str
    value: float | None
    why: str = ""
    details: Mapping[str, Scalar] = field(default_factory=dict)
    outage: bool = False


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
    """A text on which fidelity is measured: the baseline's own greedy answer, plain text, or a window of a long text.

    token_ids: whole sequence; positions from `start` on are compared
    top_ids, top_logprobs: the baseline's top-k at each compared position, shape (positions, k), nats
    target_logprobs: the baseline's log-probability of each compared token of the text
    parts:     further groups that it counts in, beside its slice and its positions (`plain/russian`)
    cluster:   texts that share content (windows of one long text); empty = it stands alone
    truncation: looked at with many more ids, only to estimate what the top-k misses; in no other figure
    """

    id: str
    slice: str
    token_ids: tuple[int, ...]
    start: int
    top_ids: tuple[tuple[int, ...], ...] = ()
    top_logprobs: tuple[tuple[float, ...], ...] = ()
    text: str = ""
    target_logprobs: tuple[float, ...] = ()
    parts: tuple[str, ...] = ()
    cluster: str = ""
    truncation: bool = False


@dataclass(frozen=True)
class Divergence:
    """The first position at which the candidate would choose another token than the baseline.

    index:      among the compared positions
    token, logprob: what the candidate would choose, with its log-probability by the candidate
    baseline_token, baseline_logprob: what the baseline chose, by the baseline
    candidate_of_baseline, baseline_of_candidate: either side's log-probability of the other's token; None = not known
    """

    index: int
    token: int
    logprob: float
    baseline_token: int
    baseline_logprob: float
    candidate_of_baseline: float | None = None
    baseline_of_candidate: float | None = None


@dataclass(frozen=True)
class TextFidelity:
    """Fidelity on one text, one value for each compared position.

    kl, reverse_kl: KL(P_baseline ‖ P_candidate) and KL(P_candidate ‖ P_baseline), nats, each a lower bound from the
                baseline's top-k ids and one outcome for the rest
    first_divergence: index of the first position with another first choice; None = none
    start:      position (tokens before it) of the first value
    topk_overlap: share of the baseline's `agreement_k` likeliest tokens that are among the candidate's
    logprob_change: log-probability of the text's own token, candidate − baseline, nats
    parts, cluster: as in FidelityText
    divergence: the two tokens at that first position; None = none, or recorded before it was kept
    """

    id: str
    slice: str
    kl: tuple[float, ...]
    same_top1: tuple[bool, ...]
    first_divergence: int | None
    start: int = 0
    reverse_kl: tuple[float, ...] = ()
    topk_overlap: tuple[float, ...] = ()
    logprob_change: tuple[float, ...] = ()
    parts: tuple[str, ...] = ()
    cluster: str = ""
    divergence: Divergence | None = None


@dataclass(frozen=True)
class FidelityPart:
    """Fidelity on some of the positions; None = not measured, or too few to have a standard error.

    kind:      `slice` · `text` (a language or kind of plain text) · `positions` (`name` is then `1,024–2,047`)
    clusters:  independent units behind the standard errors: texts, or blocks of positions where there are few texts
    log_perplexity_difference: candidate − baseline, nats per token; above 0 = the candidate finds the text less likely
    """

    name: str
    kind: str
    positions: int
    texts: int
    clusters: int
    mean_kl: float | None
    mean_kl_se: float | None
    top1_agreement: float | None
    top1_se: float | None
    log_perplexity_difference: float | None = None
    log_perplexity_se: float | None = None


@dataclass(frozen=True)
class Truncation:
    """What the lower bounds from the baseline's top-k miss, estimated with `wide_k` ids at some positions (nats).

    missed, reverse_missed: mean of (bound with `wide_k` ids − bound with `top_k` ids), never negative: the true mean is
            higher than the figure by about this much; `*_se` their standard errors, clustered by text
    wide_tail: mean probability that the baseline gives to tokens outside the `wide_k`, which stay unseen
    """

    top_k: int
    wide_k: int
    positions: int
    texts: int
    missed: float
    missed_se: float | None
    reverse_missed: float
    reverse_missed_se: float | None
    wide_tail: float


@dataclass(frozen=True)
class FidelityFloor:
    """The baseline against itself, batched otherwise: what the order of additions alone does.

    mean_kl_upper: one-sided 95 % upper limit of the mean; a candidate at or below it does not differ from the baseline
    how:           what was changed between the two
    """

    mean_kl: float
    mean_kl_upper: float
    mean_reverse_kl: float
    top1_agreement: float
    log_perplexity_difference: float | None
    log_perplexity_se: float | None
    positions: int
    how: str


@dataclass(frozen=True)
class Fidelity:
    """KL(P_baseline ‖ P_candidate) per token and top-1 agreement on the same positions, teacher-forced.

    mean_kl … max_kl, mean_reverse_kl: lower bounds (see TextFidelity); `truncation` estimates what they miss
    topk_agreement: mean share of the baseline's `agreement_k` likeliest tokens among the candidate's
    log_perplexity_difference: candidate − baseline on text that no model wrote, nats per token, paired; the standard
            error is clustered by text (`perplexity_texts` of them)
    perplexity_ratio: exp(difference), candidate / baseline, with 95 % limits
    first_divergence: index by which half of the baseline's answers have had another first choice; None = less than
            half of them ever do (`diverged` of `answers`)
    parts:  by slice, by kind of text, by position
    floor:  the baseline against itself; None = not measured
    """

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
    p999_kl: float | None = None
    mean_reverse_kl: float | None = None
    topk_agreement: float | None = None
    agreement_k: int = 0
    log_perplexity_difference: float | None = None
    log_perplexity_se: float | None = None
    perplexity_ratio: float | None = None
    perplexity_ratio_low: float | None = None
    perplexity_ratio_high: float | None = None
    perplexity_texts: int = 0
    first_divergence: float | None = None
    diverged: int = 0
    answers: int = 0
    truncation: Truncation | None = None
    parts: tuple[FidelityPart, ...] = ()
    floor: FidelityFloor | None = None

    @property
    def within_floor(self) -> bool | None:
        """Whether it differs no more than the baseline from itself; None = one of the two was not measured."""
        if self.mean_kl is None or self.floor is None:
            return None
        return self.mean_kl <= self.floor.mean_kl_upper


@dataclass(frozen=True)
class Check:
    """One check of the smoke gate. `passed is None` = could not be made (`detail` says why).

    warns: it passes, but differs from the baseline in a way that the user should know (`detail` says how)
    """

    name: str
    passed: bool | None
    detail: str
    warns: bool = False


@dataclass(frozen=True)
class Smoke:
    """Loads, answers coherently, something was really changed, the artifact reloads to the same tokens."""

    candidate: str
    checks: tuple[Check, ...]
    answers: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not any(check.passed is False for check in self.checks)

    @property
    def warnings(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.warns)
