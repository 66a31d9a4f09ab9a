"""Text by which a technique sets its scales: calibration data, as it was given."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.records.traffic import Message


@dataclass(frozen=True)
class CalibrationSample:
    """A plain text, or a conversation that the model's chat template renders; one of the two is empty.

    where: `file:line`
    """

    text: str = ""
    messages: tuple[Message, ...] = ()
    where: str = ""

    @property
    def content(self) -> str:
        """All that is said in it, as one text."""
        return self.text or "\n".join(message.content for message in self.messages)


@dataclass(frozen=True)
class Calibration:
    """The samples of one source in their order.

    digest:     over the samples without their places
    continuous: whether they are the paragraphs of one text, so that their own lengths mean nothing
    """

    source: str
    samples: tuple[CalibrationSample, ...]
    digest: str
    continuous: bool = False

    @property
    def conversations(self) -> int:
        return sum(bool(sample.messages) for sample in self.samples)
