"""Fidelity: how far a candidate's next-token distributions are from the baseline's, teacher-forced on fixed texts.

KL(P ‖ Q) in nats per token, P the baseline and Q the candidate, from the baseline's top-k and one outcome for the rest:

    KL ≥ Σ_k p_i · ln(p_i / q_i) + p_rest · ln(p_rest / q_rest)

a lower bound by the log-sum inequality (Cover & Thomas, Elements of Information Theory, theorem 2.7.1).
"""

from __future__ import annotations

import importlib.resources
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paredown.client import streaming
from paredown.contracts import ScoreRequest, ScoreResult, ScoringLevel
from paredown.errors import EngineError
from paredown.hosts.running import RunningEngine
from paredown.hosts.scoring_client import ScoringClient
from paredown.records.events import RequestEvents
from paredown.records.golden import Divergence, Fidelity, FidelityText, GoldenItem, TextFidelity
from paredown.records.traffic import TrafficRequest

PLAIN_SLICE = "plain"
# A probability mass below this is rounding of 32-bit log-probabilities, on either side.
MASS_RESOLUTION = 1e-6
Complete = Callable[..., tuple[RequestEvents, ...]]


@dataclass(frozen=True)
class PlainText:
    """Text that no model wrote. `tokens`: how many of its first tokens are compared."""

    id: str
    text: str
    tokens: int = 128


def plain_texts(*, tokens: int = 128) -> tuple[PlainText, ...]:
    """The plain texts that ship with paredown: prose, instructions, code, several languages."""
    folder = importlib.resources.files("paredown.builtin") / "plain"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".txt")), key=lambda file: file.name)
    return tuple(PlainText(file.name.removesuffix(".txt"), file.read_text("utf-8"), tokens) for file in files)


def choose_prompts(items: Sequence[GoldenItem], count: int = 20) -> tuple[GoldenItem, ...]:
    """Up to `count` items, taken in turn from the slices by id, the shortest conversation of each cluster."""
    shortest: dict[str, GoldenItem] = {}
    talks = [item for item in items if item.messages]
    for item in sorted(talks, key=lambda item: (sum(len(m.content) for m in item.messages), item.id)):
        shortest.setdefault(f"cluster {item.cluster}" if item.cluster else f"item {item.id}", item)
    by_slice: dict[str, list[GoldenItem]] = {}
    for item in sorted(shortest.values(), key=lambda item: item.id):
        by_slice.setdefault(item.slice, []).append(item)
    turns = sorted(
        ((turn, name, item) for name, members in by_slice.items() for turn, item in enumerate(members)),
        key=lambda entry: entry[:2],
    )
    return tuple(item for _, _, item in turns[:count])


# ── the baseline's side ──────────────────────────────────────────────────────────────────────────────────────────


def baseline_texts(
    running: RunningEngine,
    prompts: Sequence[GoldenItem],
    plain: Sequence[PlainText],
    *,
    max_tokens: int = 40,
    top_k: int = 32,
    concurrency: int = 16,
    timeout_s: float = 600.0,
    complete: Complete = streaming.complete,
) -> tuple[FidelityText, ...]:
    """The baseline's own greedy answers to the prompts, then the plain texts, with its top-k at every position.

    An answer ends where the baseline ends it, after `max_tokens` at the latest. Needs the level OWN_TOP_K.
    Raises EngineError when the baseline answers none of the prompts, or gives log-probabilities that are no numbers.
    """
    requests = [TrafficRequest(item.id, item.messages, max_tokens) for item in prompts]
    events = complete(
        running.url,
        running.api_key,
        running.model_name,
        requests,
        concurrency=concurrency,
        ignore_eos=False,
        timeout_s=timeout_s,
    )
    if any(one.failure for one in events):
        running.raise_if_ended()
    with running.scoring() as client:
        texts = [*_answered(client, prompts, events), *_plain(client, plain)]
        if prompts and not any(text.slice != PLAIN_SLICE for text in texts):
            raise EngineError("The baseline answered none of the fidelity prompts.", events[0].detail)
        return _with_top_k(client, texts, top_k)


def _answered(
    client: ScoringClient, prompts: Sequence[GoldenItem], events: Sequence[RequestEvents]
) -> list[FidelityText]:
    ids = client.encode([item.messages for item in prompts])
    texts = []
    for item, prompt, one in zip(prompts, ids, events, strict=True):
        answer = tuple(token for chunk in one.chunks for token in chunk.token_ids)
        if answer and not one.failure:
            texts.append(FidelityText(item.id, item.slice, (*prompt, *answer), len(prompt), text=one.text))
    return texts


def _plain(client: ScoringClient, plain: Sequence[PlainText]) -> list[FidelityText]:
    encoded = client.encode_texts([one.text for one in plain], special_tokens=True)
    return [
        FidelityText(one.id, PLAIN_SLICE, ids[: one.tokens + 1], 1, text=one.text)
        for one, ids in zip(plain, encoded, strict=True)
        if len(ids) > 1
    ]


def _with_top_k(client: ScoringClient, texts: Sequence[FidelityText], top_k: int) -> tuple[FidelityText, ...]:
    results = _score(client, texts, lambda text: ScoreRequest(text.token_ids, text.start, top_k=top_k))
    whole = []
    for text, result in zip(texts, results, strict=True):
        _refuse_nonfinite(text, result.top_logprobs)
        whole.append(
            FidelityText(
                text.id,
                text.slice,
                text.token_ids,
                text.start,
                top_ids=result.top_ids,
                top_logprobs=result.top_logprobs,
                text=text.text,
            )
        )
    return tuple(whole)


def _score(
    client: ScoringClient, texts: Sequence[FidelityText], request: Callable[[FidelityText], ScoreRequest]
) -> list[ScoreResult]:
    """Results in the order of the texts; asked in the order of the token ids, so that prefixes are shared."""
    order = sorted(range(len(texts)), key=lambda index: texts[index].token_ids)
    results = dict(zip(order, client.score([request(texts[index]) for index in order]), strict=True))
    return [results[index] for index in range(len(texts))]


# ── the candidate's side ─────────────────────────────────────────────────────────────────────────────────────────


def compare(running: RunningEngine, texts: Sequence[FidelityText], *, candidate: str, level: ScoringLevel) -> Fidelity:
    """KL lower bound and top-1 agreement of the candidate on the baseline's texts; what `level` cannot give is missing.

    Raises EngineError when its log-probabilities are not finite: such a candidate is broken, whatever the rest says.
    """
    top_k = max((len(row) for text in texts for row in text.top_ids), default=0)
    if level < ScoringLevel.OWN_TOP_K or not texts:
        why = "no text to compare on" if not texts else f"the engine's scoring level is {level.name}"
        return Fidelity(candidate, level.name, (), top_k, None, None, None, None, 0, missing=why)
    with_kl = level >= ScoringLevel.GIVEN_IDS

    def request(text: FidelityText) -> ScoreRequest:
        return ScoreRequest(text.token_ids, text.start, top_k=1, at_ids=text.top_ids if with_kl else ())

    with running.scoring() as client:
        results = _score(client, texts, request)
    compared = [_compare_text(text, result) for text, result in zip(texts, results, strict=True)]
    kl = np.array([value for text in compared for value in text.kl])
    same = [match for text in compared for match in text.same_top1]
    return Fidelity(
        candidate=candidate,
        level=level.name,
        texts=tuple(compared),
        top_k=top_k,
        mean_kl=float(kl.mean()) if kl.size else None,
        p99_kl=float(np.quantile(kl, 0.99)) if kl.size else None,
        max_kl=float(kl.max()) if kl.size else None,
        top1_agreement=sum(same) / len(same),
        positions=len(same),
        missing="" if with_kl else f"KL needs the scoring level GIVEN_IDS, this engine gives {level.name}",
    )


def _compare_text(text: FidelityText, result: ScoreResult) -> TextFidelity:
    _refuse_nonfinite(text, result.at_logprobs or result.top_logprobs)
    kl = tuple(kl_lower_bound(p, q) for p, q in zip(text.top_logprobs, result.at_logprobs, strict=False))
    same = tuple(
        _is_top1(candidate[0], ids, logprobs)
        for candidate, ids, logprobs in zip(result.top_ids, text.top_ids, text.top_logprobs, strict=True)
    )
    index = same.index(False) if False in same else None
    found = None if index is None else divergence(text, result, index)
    return TextFidelity(text.id, text.slice, kl, same, index, divergence=found)


def divergence(text: FidelityText, result: ScoreResult, index: int) -> Divergence:
    """What both sides would choose at a compared position, with the log-probabilities that are known."""
    known = dict(zip(text.top_ids[index], text.top_logprobs[index], strict=True))
    token = result.top_ids[index][0]
    return Divergence(
        index=index,
        token=token,
        logprob=result.top_logprobs[index][0],
        baseline_token=text.top_ids[index][0],
        baseline_logprob=text.top_logprobs[index][0],
        candidate_of_baseline=result.at_logprobs[index][0] if result.at_logprobs else None,
        baseline_of_candidate=known.get(token),
    )


def _is_top1(candidate: int, ids: Sequence[int], logprobs: Sequence[float]) -> bool:
    """Whether the candidate's first choice is the baseline's; of equal logits (usual in bf16) any counts as first."""
    return any(candidate == token for token, value in zip(ids, logprobs, strict=True) if value == logprobs[0])


def kl_lower_bound(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Lower bound of KL(baseline ‖ candidate), nats, from log-probabilities at the same ids; at least 0.

    The mass outside these ids is one more outcome. Masses under 1e-6 count as 1e-6: they are rounding.
    """
    kept = sum(math.exp(p) * (p - q) for p, q in zip(baseline, candidate, strict=True))
    rest = max(1.0 - math.fsum(map(math.exp, baseline)), MASS_RESOLUTION)
    candidate_rest = max(1.0 - math.fsum(map(math.exp, candidate)), MASS_RESOLUTION)
    return max(0.0, kept + rest * math.log(rest / candidate_rest))


def _refuse_nonfinite(text: FidelityText, rows: Sequence[Sequence[float]]) -> None:
    bad = [index for index, row in enumerate(rows) if not all(math.isfinite(value) for value in row)]
    if bad:
        raise EngineError(
            f"The model gives log-probabilities that are no finite numbers at {len(bad)} of {len(rows)} positions "
            f"of the text {text.id!r}: it is broken."
        )
