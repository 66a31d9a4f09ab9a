"""Requests as a trace or log has them, before they are checked and made into traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from paredown.records.figure import Options
from paredown.records.traffic import Message

DEFAULT_OUTPUT_TOKENS = 50


@dataclass(frozen=True)
class FieldNames:
    """What the file itself calls the fields, so that a complaint names what the user sees."""

    time: str = "time"
    prompt: str = "prompt_tokens"
    output: str = "output_tokens"


@dataclass(frozen=True)
class Row:
    """One request as it was found.

    where:         `file:line`
    at_s:          when it arrived, on whatever clock the file has; None = the file does not say
    prompt_tokens: length of its prompt, for a request without text
    blocks:        ids of its leading blocks: equal leading ids mean equal beginnings
    """

    where: str
    at_s: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    messages: tuple[Message, ...] = ()
    id: str = ""
    blocks: tuple[int, ...] = ()
    names: FieldNames = FieldNames()


@dataclass(frozen=True)
class Flaw:
    """A line that is no request, with the sentence that says why (it names file, line and field)."""

    says: str


@dataclass(frozen=True)
class Draft:
    """A traffic as its file has it.

    load_shape, options: as the file says; empty when it says nothing
    reading:        options of the reading that the file gives, not yet checked
    default_output: length of an answer whose length the file does not say
    """

    name: str
    summary: str
    found: Iterable[Row | Flaw]
    load_shape: str = ""
    options: Options = field(default_factory=dict)
    reading: Mapping[str, object] = field(default_factory=dict)
    default_output: int = DEFAULT_OUTPUT_TOKENS
