"""Answers on the golden sets, stored batch by batch, so that a killed run repeats none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown import registry
from paredown.errors import ScorerError
from paredown.evaluate import answers, scoring
from paredown.evaluate.answers import BatchPolicy
from paredown.evaluate.scoring import Settings
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Stage
from paredown.hosts.running import RunningEngine
from paredown.records import codec
from paredown.records.candidate import Candidate
from paredown.records.golden import Answer, Evaluation, GoldenItem, Score
from paredown.store.run_store import RunStore

MOST_OUTAGES, OUTAGE_SHARE = 2, 0.1
POLICY = BatchPolicy()
CONTROL_POLICY = BatchPolicy(batch_items=24, concurrency=5, reverse=True)
"""The A/A control: other batch sizes and the opposite order, because a deterministic repeat proves nothing."""


@dataclass(frozen=True)
class AnswerBatch:
    """Answers that were stored together, each with the digest of the item that it answers."""

    items: tuple[str, ...]
    answers: tuple[Answer, ...]


def evaluation_key(
    candidate: Candidate,
    split: str,
    items: Sequence[GoldenItem],
    policy: BatchPolicy = POLICY,
    settings: Settings | None = None,
) -> str:
    """All that decides the scores: what is served, the prompts, how they are batched, the scorers as they are set."""
    scorers = scoring.identity([item.scorer for item in items], settings or {})
    decided = codec.digest([candidate.digest(), [item_digest(item) for item in items], str(policy), scorers])
    return f"{candidate.name}/{split}/{decided[:16]}"


def evaluate(
    context: RunContext,
    running: RunningEngine,
    candidate: Candidate,
    split: str,
    items: Sequence[GoldenItem],
    stage: Stage,
    policy: BatchPolicy = POLICY,
) -> Evaluation:
    """The stored evaluation, or a new one on a started engine; answers that a killed run stored are kept."""
    key = evaluation_key(candidate, split, items, policy, context.spec.scorers)
    found = context.store.find("evaluation", key, Evaluation)
    if found is not None:
        return found
    digests = {item.id: item_digest(item) for item in items}
    prefix = f"{candidate.digest()[:16]}/{policy}"
    known = _answered_before(context, prefix, digests)
    count = len(known)

    def keep(batch: tuple[Answer, ...]) -> None:
        nonlocal count
        count += len(batch)
        stored = AnswerBatch(tuple(digests[answer.item] for answer in batch), batch)
        context.store.put("answers", f"{prefix}/{codec.digest(stored.items)[:16]}", stored, bulk=True)
        stage.update(count / len(items), f"{count} of {len(items)} prompts")

    made = answers.run(
        running,
        items,
        candidate=candidate.name,
        split=split,
        level=registry.engine(candidate.engine).scoring,
        policy=policy,
        on_batch=keep,
        done=known,
        settings=context.spec.scorers,
    )
    refuse_outage(items, made.scores)
    context.store.put("evaluation", key, made, bulk=True)
    return made


def refuse_outage(items: Sequence[GoldenItem], scores: Sequence[Score]) -> None:
    """Raises ScorerError when more than a tenth of a scorer's items (and at least two) met an outage.

    Nothing is stored then but the answers: the same command asks the judge again, and no candidate is blamed.
    """
    for name in sorted({item.scorer for item in items}):
        own = [score for item, score in zip(items, scores, strict=True) if item.scorer == name]
        lost = [score for score in own if score.outage]
        if len(lost) >= MOST_OUTAGES and len(lost) > OUTAGE_SHARE * len(own):
            raise ScorerError(
                f"The scorer {name} could not score {len(lost)} of {len(own)} answers: {lost[0].why}. The answers are "
                "kept: run the same command again when it can be reached."
            )


def joined(first: Evaluation, second: Evaluation) -> Evaluation:
    """Two parts of one split, asked one after the other."""
    return Evaluation(
        second.candidate,
        second.split,
        {**first.scorer_versions, **second.scorer_versions},
        (*first.answers, *second.answers),
        (*first.scores, *second.scores),
        first.prefill_tokens + second.prefill_tokens,
        first.generated_tokens + second.generated_tokens,
        first.seconds + second.seconds,
        second.batch_policy,
    )


def find_evaluation(store: RunStore, candidate: Candidate, split: str, prepared: Prepared) -> Evaluation | None:
    """The stored evaluation of a split under the usual batching, None when it was not made."""
    key = evaluation_key(candidate, split, prepared.items(split), POLICY, prepared.scorers)
    return store.find("evaluation", key, Evaluation)


def _answered_before(context: RunContext, prefix: str, digests: dict[str, str]) -> tuple[Answer, ...]:
    """Answers of the same candidate to the same items, from batches of an earlier run or another split."""
    found = {}
    for entry in context.store.entries("answers"):
        if entry.key.rpartition("/")[0] == prefix:
            batch = codec.loads(AnswerBatch, context.store.body(entry))
            for digest, answer in zip(batch.items, batch.answers, strict=True):
                if digests.get(answer.item) == digest:
                    found[answer.item] = answer
    return tuple(found.values())


def item_digest(item: GoldenItem) -> str:
    """Digest of what is asked, wherever it came from."""
    plain = codec.to_plain(item)
    return codec.digest({name: value for name, value in plain.items() if name != "where"})[:16]
