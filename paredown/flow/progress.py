"""What a run tells while it runs. The command line draws it; tests collect it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Stage(Protocol):
    """A piece of work that is under way."""

    def update(self, fraction: float, text: str = "") -> None:
        """fraction: done so far, 0 … 1; text: what it is doing right now."""


class Progress(Protocol):
    """Where a run reports to."""

    def stage(self, title: str, estimate_s: float | None = None) -> AbstractContextManager[Stage]:
        """Open while the work goes on; `estimate_s` is how long it will take, None = unknown."""

    def note(self, text: str) -> None:
        """A line that stays: a result, a decision, something left out."""


class Part:
    """The part of a stage that lies between two fractions."""

    def __init__(self, stage: Stage, low: float, high: float) -> None:
        self._stage, self._low, self._high = stage, low, high

    def update(self, fraction: float, text: str = "") -> None:
        self._stage.update(self._low + (self._high - self._low) * fraction, text)


class SilentStage:
    def update(self, fraction: float, text: str = "") -> None:
        del fraction, text


class Silent:
    """Keeps the notes and titles and shows nothing: for library use and tests."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.notes: list[str] = []

    def stage(self, title: str, estimate_s: float | None = None) -> AbstractContextManager[Stage]:
        del estimate_s
        self.titles.append(title)
        return _silent_stage()

    def note(self, text: str) -> None:
        self.notes.append(text)


@contextmanager
def _silent_stage() -> Iterator[Stage]:
    yield SilentStage()
