"""Lengths of a candidate's answers beside the baseline's on the same prompts, how they end, and whether they loop.

A candidate that stops early looks faster, and one that runs on costs more than its speed saves; scores of short
answers may show neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from paredown.evaluate import smoke
from paredown.records.golden import Answer, Evaluation, GoldenItem
from paredown.records.lengths import LengthRatio
from paredown.stats import totals

CUT = "length"


def compare(baseline: Evaluation, candidate: Evaluation, items: Sequence[GoldenItem]) -> LengthRatio:
    """Over the items that both wrote an answer to; failed requests and items with choices are in no pair."""
    before, after = _written(baseline), _written(candidate)
    pairs = [(item, before[item.id], after[item.id]) for item in items if item.id in before and item.id in after]
    known = [pair for pair in pairs if not (_is_cut(pair[1]) and _is_cut(pair[2]))]
    by_unit: dict[str, tuple[int, int]] = {}
    for item, old, new in known:
        first, second = by_unit.get(item.unit, (0, 0))
        by_unit[item.unit] = (first + len(old.token_ids), second + len(new.token_ids))
    a, b = [pair[0] for pair in by_unit.values()], [pair[1] for pair in by_unit.values()]
    found = totals.ratio(a, b) if sum(a) and sum(b) else None
    return LengthRatio(
        answers=len(pairs),
        both_cut=len(pairs) - len(known),
        compared=len(known),
        units=len(by_unit),
        baseline_tokens=sum(a),
        candidate_tokens=sum(b),
        ratio=found.ratio if found else (0.0 if sum(a) else None),
        low=found.low if found else None,
        high=found.high if found else None,
        half_width=found.half_width if found else None,
        baseline_ended=sum(not _is_cut(old) for _, old, _ in pairs),
        candidate_ended=sum(not _is_cut(new) for _, _, new in pairs),
        end_lost=sum(not _is_cut(old) and _is_cut(new) for _, old, new in pairs),
        end_gained=sum(_is_cut(old) and not _is_cut(new) for _, old, new in pairs),
        baseline_loops=sum(bool(smoke.loop_period(old.token_ids)) for _, old, _ in pairs),
        candidate_loops=sum(bool(smoke.loop_period(new.token_ids)) for _, _, new in pairs),
    )


def _written(evaluation: Evaluation) -> dict[str, Answer]:
    """Answers that were generated: those have a reason why they ended."""
    return {answer.item: answer for answer in evaluation.answers if answer.finish_reason and not answer.failure}


def _is_cut(answer: Answer) -> bool:
    return answer.finish_reason == CUT
