"""The exception tree of paredown.

PareDownError
├── UserError           the request is wrong: exit status 2, one sentence, no traceback
│   ├── UnknownNameError    a word that is not known; names the nearest known one
│   ├── MissingPackageError an optional package is not installed; names the install line
│   └── RunInUseError       another process holds the run directory
├── EngineError         one candidate's engine failed; the run goes on without it
│   ├── EngineDied          its process ended
│   ├── EngineHung          nothing came from it within the time limit
│   └── EngineOutOfMemory   it was killed for memory or said so
├── TechniqueError      a technique could not make its artifact; the run goes on without it
├── BaselineError       the baseline itself failed: nothing can be compared, exit status 1
├── ScorerError         what judges the answers is out of reach: the answers are kept, exit status 1
├── DiskFullError       the disk is full: what was measured is kept, exit status 1
└── RecordError         a record is damaged or was changed: exit status 1
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PareDownError(Exception):
    """Root of every error that paredown raises on purpose."""

    exit_status = 1


class UserError(PareDownError):
    """The request cannot be carried out as asked: says what was asked, found, and what to type instead."""

    exit_status = 2


class UnknownNameError(UserError):
    """A name that is not known here; the message names the nearest known one."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(sorted(known))
        near = difflib.get_close_matches(name, self.known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        super().__init__(f"Unknown {kind} {name!r}. {hint}Known: {', '.join(self.known) or 'none'}.")


class MissingPackageError(UserError):
    """An optional package that this needs is not installed."""

    def __init__(self, needed_by: str, package: str, install: str) -> None:
        super().__init__(f"{needed_by} needs the package {package!r}, which is not installed. Run: {install}")


class RunInUseError(UserError):
    """Two runs in one directory at once."""


class EngineError(PareDownError):
    """One candidate's engine failed. `detail` keeps the tail of its log."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class EngineDied(EngineError):
    """The engine's process ended before it was asked to."""


class EngineHung(EngineError):
    """The engine did not answer within its time limit."""


class EngineOutOfMemory(EngineError):
    """The engine was killed for memory, or reported that it had none left."""


class TechniqueError(PareDownError):
    """A technique could not make its artifact. `detail` keeps the tail of its log."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class TechniqueOutOfMemory(TechniqueError):
    """The technique's worker was killed for memory, or reported that it had none left."""


class BaselineError(PareDownError):
    """The baseline failed, so that nothing can be compared with it."""


class ScorerError(PareDownError):
    """What judges the answers is out of reach: nothing can be said of any candidate until it is back."""


class DiskFullError(PareDownError):
    """No space is left on the device that holds the run or the cache."""


class RecordError(PareDownError):
    """A record is damaged, incomplete or was changed after it was written."""


def first_line(error: BaseException) -> str:
    """The first line of somebody else's error without its full stop; the name of its class when it says nothing."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
