"""Calibration data in the form of another model, or without any template, are told apart from those that fit."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.evaluate.audit import calibration_form
from paredown.hosts.tokenizer import ByteTokenizer
from paredown.records.audit import Severity
from paredown.records.calibration import Calibration, CalibrationSample
from paredown.records.traffic import Message

OWN, OTHER = "<|im_start|>", "[INST]"


class Marked(ByteTokenizer):
    """Bytes, and one special token of its own."""

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:
        return (300,) if text == OWN else super().encode(text, special_tokens=special_tokens)

    def decode(self, ids: Sequence[int]) -> str:
        return super().decode([token for token in ids if token < 256])


def found(*samples: CalibrationSample) -> dict[str, Severity]:
    return {one.kind: one.severity for one in calibration_form.find(Calibration("c", samples, "d"), Marked())}


def test_marks_of_another_template_are_found_and_own_ones_are_not() -> None:
    assert found(CalibrationSample(f"{OTHER} Hi [/INST]")).get("foreign template") is Severity.WARN
    assert found(CalibrationSample(f"{OWN}user\nHi")) == {}


def test_plain_text_is_a_note_and_a_conversation_is_nothing() -> None:
    assert found(CalibrationSample("Once upon a time.")) == {"raw calibration": Severity.NOTE}
    assert found(CalibrationSample(messages=(Message("user", "Hi"),))) == {}
