"""The candidate's side of fidelity, and the baseline's against itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paredown.contracts import ScoreRequest, ScoreResult, ScoringLevel
from paredown.evaluate.fidelity import asking, divergence, summary
from paredown.evaluate.fidelity.summary import WideRow
from paredown.hosts.running import RunningEngine
from paredown.hosts.scoring_client import ScoringClient
from paredown.records.golden import Divergence, Fidelity, FidelityFloor, FidelityText, TextFidelity, Truncation

AGREEMENT_K = 10
FLOOR_TOKENS = 1400
"""The noise floor is measured on texts up to this length: the longest ones would double the cost and change nothing."""

_ALONE = "each text alone and in the opposite order, in place of many packed together"
Score = Callable[[ScoringClient, Sequence[FidelityText], Callable[[FidelityText], ScoreRequest]], list[ScoreResult]]


def compare(
    running: RunningEngine,
    texts: Sequence[FidelityText],
    *,
    candidate: str,
    level: ScoringLevel,
    floor: FidelityFloor | None = None,
) -> Fidelity:
    """Fidelity of the candidate on the baseline's texts; what `level` cannot give is missing.

    floor: the baseline against itself, kept beside the figures
    Raises EngineError when its log-probabilities are not finite: such a candidate is broken, whatever the rest says.
    """
    top_k = max((len(row) for text in texts if not text.truncation for row in text.top_ids), default=0)
    if level < ScoringLevel.TARGET_ONLY or not texts:
        why = "no text to compare on" if not texts else f"the engine's scoring level is {level.name}"
        return summary.summarize(candidate, level.name, (), top_k=top_k, missing=why)
    with running.scoring() as client:
        room = client.info().context_length or max(len(text.token_ids) for text in texts)
        asked = [text for text in texts if len(text.token_ids) <= room]
        found = _measure(client, asked, top_k, level, asking.score)
    return summary.summarize(
        candidate,
        level.name,
        found.texts,
        top_k=top_k,
        agreement_k=min(AGREEMENT_K, top_k) if level >= ScoringLevel.OWN_TOP_K else 0,
        truncation=found.truncation,
        floor=floor,
        missing="; ".join(_missing(level, texts, room)),
    )


def _missing(level: ScoringLevel, texts: Sequence[FidelityText], room: int) -> list[str]:
    found = []
    if level < ScoringLevel.GIVEN_IDS:
        found.append(f"KL needs the scoring level GIVEN_IDS, this engine gives {level.name}")
    if level < ScoringLevel.OWN_TOP_K:
        found.append("top-1 agreement needs OWN_TOP_K")
    lengths = [len(text.token_ids) for text in texts if not text.truncation]
    too_long = sum(length > room for length in lengths)
    if too_long:
        found.append(
            f"left out: {too_long} of {len(lengths)} texts are longer than the candidate's context of {room:,}"
        )
    return found


def noise_floor(running: RunningEngine, texts: Sequence[FidelityText]) -> FidelityFloor | None:
    """The baseline against its own log-probabilities, batched otherwise. Teacher forcing has no seed to change.

    Needs the level GIVEN_IDS. None without texts.
    """
    top_k = max((len(row) for text in texts if not text.truncation for row in text.top_ids), default=0)
    short = [text for text in texts if not text.truncation and len(text.token_ids) <= FLOOR_TOKENS]
    with running.scoring() as client:
        found = _measure(client, short, top_k, ScoringLevel.GIVEN_IDS, asking.score_alone)
    return summary.floor(found.texts, _ALONE)


@dataclass(frozen=True)
class _Measured:
    texts: tuple[TextFidelity, ...]
    truncation: Truncation | None


def _measure(
    client: ScoringClient, texts: Sequence[FidelityText], top_k: int, level: ScoringLevel, score: Score
) -> _Measured:
    with_kl, with_top = level >= ScoringLevel.GIVEN_IDS, level >= ScoringLevel.OWN_TOP_K
    asked = [text for text in texts if with_kl or not text.truncation]

    def request(text: FidelityText) -> ScoreRequest:
        own = min(AGREEMENT_K, top_k) if with_top and not text.truncation else 0
        return ScoreRequest(text.token_ids, text.start, top_k=own, at_ids=text.top_ids if with_kl else ())

    results = score(client, asked, request)
    pairs = list(zip(asked, results, strict=True))
    for text, result in pairs:
        asking.refuse_nonfinite(text, result.at_logprobs or result.top_logprobs or [result.target_logprobs])
    wide = [pair for pair in pairs if pair[0].truncation]
    rows = [row for text, result in wide for row in _wide_rows(text, result, top_k)]
    wide_k = max((len(row) for text, _ in wide for row in text.top_ids), default=0)
    return _Measured(
        tuple(_compare_text(text, result) for text, result in pairs if not text.truncation),
        summary.truncation(rows, top_k, wide_k) if wide_k > top_k else None,
    )


def _compare_text(text: FidelityText, result: ScoreResult) -> TextFidelity:
    bounds = [divergence.bounds(p, q) for p, q in zip(text.top_logprobs, result.at_logprobs, strict=False)]
    rows = list(zip(result.top_ids, text.top_ids, text.top_logprobs, strict=False))
    same = tuple(divergence.is_top1(own[0], ids, logprobs) for own, ids, logprobs in rows)
    first = same.index(False) if False in same else None
    return TextFidelity(
        text.id,
        text.slice,
        tuple(both.kl for both in bounds),
        same,
        first,
        start=text.start,
        reverse_kl=tuple(both.reverse for both in bounds),
        topk_overlap=tuple(divergence.overlap(own, ids, len(own)) for own, ids, _ in rows),
        logprob_change=tuple(
            after - before for before, after in zip(text.target_logprobs, result.target_logprobs, strict=False)
        ),
        parts=text.parts,
        cluster=text.cluster,
        divergence=None if first is None else _choices(text, result, first),
    )


def _choices(text: FidelityText, result: ScoreResult, index: int) -> Divergence:
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


def _wide_rows(text: FidelityText, result: ScoreResult, top_k: int) -> list[WideRow]:
    rows = []
    for p, q in zip(text.top_logprobs, result.at_logprobs, strict=True):
        few, many = divergence.bounds(p[:top_k], q[:top_k]), divergence.bounds(p, q)
        tail = max(0.0, 1.0 - math.fsum(map(math.exp, p)))
        rows.append(WideRow(text.cluster or text.id, few.kl, many.kl, few.reverse, many.reverse, tail))
    return rows
