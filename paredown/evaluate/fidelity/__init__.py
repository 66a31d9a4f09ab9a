"""Fidelity: how far a candidate's next-token distributions are from the baseline's, teacher-forced on fixed texts."""

from paredown.evaluate.fidelity.baseline import baseline_texts, furthest_position
from paredown.evaluate.fidelity.compare import compare, noise_floor
from paredown.evaluate.fidelity.texts import LONG_SLICE, PLAIN_SLICE, PlainText, choose_prompts, plain_texts

__all__ = [
    "LONG_SLICE",
    "PLAIN_SLICE",
    "PlainText",
    "baseline_texts",
    "choose_prompts",
    "compare",
    "furthest_position",
    "noise_floor",
    "plain_texts",
]
