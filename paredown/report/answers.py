"""Two answers side by side, with the first difference marked."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.report import units
from paredown.report.view import AnswerView, WorstAnswer

LONGEST_TEXT, LONGEST_PROMPT, MOST_SHOWN = 1500, 900, 100


@dataclass(frozen=True)
class Marked:
    """A text in three parts: as the other, the first word that differs, the rest. `cut`: characters not shown."""

    same: str
    different: str
    rest: str
    cut: int = 0


@dataclass(frozen=True)
class ChoiceRow:
    """A choice of a likelihood item with its log-probability by baseline and candidate."""

    text: str
    right: bool
    baseline: str
    candidate: str


@dataclass(frozen=True)
class AnswerPair:
    """An answer that changed, `lost` or `gained`. `choices` for likelihood items, else the two marked texts."""

    candidate: str
    id: str
    slice: str
    prompt: str
    prompt_cut: int
    expected: str
    baseline_score: str
    score: str
    baseline: Marked
    answer: Marked
    choices: tuple[ChoiceRow, ...]
    change: str = "lost"


def pair(worst: WorstAnswer) -> AnswerPair:
    item = worst.item
    prompt = "\n\n".join(m.content if len(item.messages) == 1 else f"{m.role}: {m.content}" for m in item.messages)
    before, after = mark_difference(_text(worst.baseline), _text(worst.answer))
    return AnswerPair(
        candidate=worst.candidate,
        id=item.id,
        slice=item.slice,
        prompt=prompt[:LONGEST_PROMPT],
        prompt_cut=max(0, len(prompt) - LONGEST_PROMPT),
        expected=_expected(worst),
        baseline_score=_score(worst.baseline),
        score=_score(worst.answer),
        baseline=before,
        answer=after,
        choices=_choices(worst),
        change="gained" if worst.gained else "lost",
    )


def mark_difference(left: str, right: str) -> tuple[Marked, Marked]:
    """Both texts, split before the word in which they first differ; equal texts have nothing marked."""
    index = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    if left == right:
        return _cut(left, len(left)), _cut(right, len(right))
    start = index
    while start and not left[start - 1].isspace():
        start -= 1
    return _cut(left, start), _cut(right, start)


def _cut(text: str, start: int) -> Marked:
    end = start
    while end < len(text) and not text[end].isspace():
        end += 1
    # A long common beginning is cut in its middle, so that the difference is always seen.
    same, hidden = text[:start], 0
    if len(same) > LONGEST_TEXT:
        hidden = len(same) - LONGEST_TEXT
        same = f"{same[: LONGEST_TEXT // 2]} […] {same[-(LONGEST_TEXT // 2) :]}"
    rest = text[end : end + LONGEST_TEXT]
    return Marked(
        same, text[start : min(end, start + LONGEST_TEXT)], rest, hidden + max(0, len(text) - end - LONGEST_TEXT)
    )


def _text(answer: AnswerView) -> str:
    return answer.text or (f"[failed: {answer.failure}]" if answer.failure else "")


def _expected(worst: WorstAnswer) -> str:
    item = worst.item
    if item.choices and item.answer.isdigit() and int(item.answer) < len(item.choices):
        return item.choices[int(item.answer)]
    return item.answer[:LONGEST_PROMPT]


def _score(answer: AnswerView) -> str:
    if answer.score is None:
        return f"not scored ({answer.failure})" if answer.failure else "not scored"
    return {0.0: "wrong", 1.0: "right"}.get(answer.score, f"score {units.number(answer.score)}")


def _choices(worst: WorstAnswer) -> tuple[ChoiceRow, ...]:
    def logprob(answer: AnswerView, index: int) -> str:
        known = index < len(answer.choice_logprobs)
        return f"{answer.choice_logprobs[index]:.2f}" if known else units.NOT_MEASURED

    return tuple(
        ChoiceRow(text, worst.item.answer == str(i), logprob(worst.baseline, i), logprob(worst.answer, i))
        for i, text in enumerate(worst.item.choices)
    )
