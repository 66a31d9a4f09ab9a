"""What is weak about the prompts, the calibration data or the tokenizer, found before anybody is judged."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.StrEnum):
    """`note` is worth knowing, `warn` weakens the verdict, `refuse` leaves it nothing to stand on."""

    NOTE = "note"
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Finding:
    """One weakness.

    kind:     short name (`duplicate`, `small slice`, `calibration overlap` …)
    sentence: what was found and what to do about it
    items:    ids of the golden items that it is about; empty = the set or the slice as a whole
    slice:    the slice or gate that it is about, if it is about one
    """

    kind: str
    sentence: str
    severity: Severity = Severity.WARN
    items: tuple[str, ...] = ()
    slice: str = ""


@dataclass(frozen=True)
class Audit:
    """All findings of one look; empty when nothing was found."""

    findings: tuple[Finding, ...]

    @property
    def refused(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is Severity.REFUSE)

    @property
    def warned(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is Severity.WARN)
