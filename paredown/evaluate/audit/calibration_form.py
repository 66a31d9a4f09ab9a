"""Calibration data in another form than prompts have: raw text, or the marks of another model's chat template."""

from __future__ import annotations

from collections import Counter

from paredown.evaluate.audit import wording
from paredown.hosts.tokenizer import Tokenizer
from paredown.records.audit import Finding, Severity
from paredown.records.calibration import Calibration

MARKS = (
    *("<|im_start|>", "<|im_end|>", "[INST]", "[/INST]", "<<SYS>>", "<start_of_turn>", "<end_of_turn>"),
    *("<|start_header_id|>", "<|eot_id|>", "<|user|>", "<|assistant|>", "<|start|>", "<|message|>"),
    *("### Instruction:", "### Response:"),
)
"""How chat templates mark turns; a model's own ones are one special token each."""


def find(calibration: Calibration, tokenizer: Tokenizer) -> tuple[Finding, ...]:
    return (*_foreign_marks(calibration, tokenizer), *_raw(calibration, tokenizer))


def _foreign_marks(calibration: Calibration, tokenizer: Tokenizer) -> list[Finding]:
    foreign = [mark for mark in MARKS if not is_special(mark, tokenizer)]
    counts = Counter(mark for sample in calibration.samples for mark in foreign if mark in sample.content)
    if not counts:
        return []
    mark, count = counts.most_common(1)[0]
    sentence = (
        f"{wording.count(count, 'sample')} of the calibration data hold {mark!r}, the mark of another model's chat "
        "template, which this model reads as plain text. Give the conversations as `messages`, so that this model's "
        "own template renders them."
    )
    return [Finding("foreign template", sentence)]


def _raw(calibration: Calibration, tokenizer: Tokenizer) -> list[Finding]:
    """Plain texts only, where the prompts are conversations. A note: measured losses on plain text are small."""
    own = [mark for mark in MARKS if is_special(mark, tokenizer)]
    if calibration.conversations or any(mark in sample.content for sample in calibration.samples for mark in own):
        return []
    sentence = (
        "The calibration data are plain text, while the prompts are conversations that the chat template renders: the "
        "template's own tokens are never seen in calibration. Give conversations as `messages` where you have them."
    )
    return [Finding("raw calibration", sentence, Severity.NOTE)]


def is_special(mark: str, tokenizer: Tokenizer) -> bool:
    """Whether a mark is a special token of this tokenizer: one token, which has no text."""
    ids = tokenizer.encode(mark, special_tokens=False)
    return len(ids) == 1 and not tokenizer.decode(ids).strip()
