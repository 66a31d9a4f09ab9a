"""What the baseline's own answers show: slices on which it guesses, answers that were cut, prompts nobody can win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from paredown.evaluate.audit import wording
from paredown.records.audit import Finding
from paredown.records.golden import Answer, Evaluation, GoldenItem
from paredown.stats import chance as guessing

CHANCE_ALPHA = 0.05
CUT_SHARE = 0.1
"""Answers of a slice that are cut and not right, from which on its scores are of the limit rather than the model."""
LENGTH = "length"

Chance = Callable[[GoldenItem], float | None]


def find(items: Sequence[GoldenItem], evaluations: Sequence[Evaluation], chance: Chance) -> tuple[Finding, ...]:
    """items: those that the evaluations of the baseline are of, together; chance: an item's score by guessing"""
    scores = {score.item: score.value for one in evaluations for score in one.scores if score.value is not None}
    answers = {answer.item: answer for one in evaluations for answer in one.answers}
    slices: dict[str, list[GoldenItem]] = {}
    for item in items:
        slices.setdefault(item.slice, []).append(item)
    found: list[Finding] = []
    for name, members in sorted(slices.items()):
        found += _at_chance(name, members, scores, chance)
        found += _cut(name, members, answers, scores)
    return (*found, *_not_scored(items, evaluations))


def _at_chance(name: str, items: Sequence[GoldenItem], scores: Mapping[str, float], chance: Chance) -> list[Finding]:
    known = [(scores[i.id], level) for i in items if i.id in scores and (level := chance(i)) is not None]
    if not known:
        return []
    values, levels = [value for value, _ in known], [level for _, level in known]
    if guessing.p_above(values, levels) <= CHANCE_ALPHA:
        return []
    sentence = (
        f"On the slice {name!r} the baseline scores {100 * sum(values) / len(values):.0f} % of "
        f"{wording.count(len(values), 'item')} where guessing gives {100 * sum(levels) / len(levels):.0f} %: what it "
        "cannot do it cannot lose, so the slice protects nothing. Ask easier questions, or the same as choices."
    )
    return [Finding("slice at chance", sentence, slice=name)]


def _cut(
    name: str, items: Sequence[GoldenItem], answers: Mapping[str, Answer], scores: Mapping[str, float]
) -> list[Finding]:
    written = [item for item in items if item.id in answers and answers[item.id].finish_reason]
    cut = [i for i in written if answers[i.id].finish_reason == LENGTH and scores.get(i.id, 0.0) < 1.0]
    if not cut or len(cut) < CUT_SHARE * len(written):
        return []
    limits = sorted({item.max_tokens for item in cut})
    sentence = (
        f"{wording.percent(len(cut) / len(written))} of the baseline's written answers in the slice {name!r} are cut "
        f"by their limit of {_range(limits)} and not right ({wording.some([item.id for item in cut])}): the right "
        "answer may stand behind the cut. Raise `max_tokens`."
    )
    return [Finding("answers cut", sentence, items=tuple(item.id for item in cut), slice=name)]


def _range(limits: Sequence[int]) -> str:
    return f"{limits[0]:,} tokens" if len(limits) == 1 else f"{limits[0]:,} to {limits[-1]:,} tokens"


def _not_scored(items: Sequence[GoldenItem], evaluations: Sequence[Evaluation]) -> list[Finding]:
    """Items that have no score on the baseline can be won or lost by nobody; one finding for each reason."""
    wanted = {item.id for item in items}
    whys: dict[str, list[str]] = {}
    for one in evaluations:
        for score in one.scores:
            if score.value is None and score.item in wanted:
                whys.setdefault(score.why or "no reason is given", []).append(score.item)
    by_count = Counter({why: len(ids) for why, ids in whys.items()})
    return [
        Finding(
            "not scored",
            f"{wording.items(count, 'has', 'have')} no score on the baseline ({wording.some(whys[why])}), so that no "
            f"candidate is judged on them: {why}.",
            items=tuple(whys[why]),
        )
        for why, count in by_count.most_common()
    ]
