"""Requests to send, and in what shape."""

from __future__ import annotations

from dataclasses import dataclass, field

from paredown.records.figure import Options


@dataclass(frozen=True)
class Message:
    role: str
    content: str

    @property
    def plain(self) -> dict[str, str]:
        """As requests and chat templates have it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True)
class TrafficRequest:
    """One request of a workload. `output_tokens` is forced (the model may not stop early) in speed trials.

    at_s:          when it arrived in the trace or log that it was taken from, in seconds after the first one
    prompt_tokens: what its prompt was made to have, chat template included, by the model's own tokenizer
    """

    id: str
    messages: tuple[Message, ...]
    output_tokens: int
    at_s: float | None = None
    prompt_tokens: int | None = None


@dataclass(frozen=True)
class Traffic:
    """A named workload: requests and the load shape that sends them.

    options: of the load shape, for example {"concurrency": 16}
    cache:   what a prefix cache is to hold: `cold` (no prompt shares its beginning with one before), `warm` (every
             prompt was sent before) or `shared` (as the trace has it; the hit rate is reported and not judged)
    notes:   what was done to the requests (clipped, left out), with counts
    """

    name: str
    summary: str
    load_shape: str
    requests: tuple[TrafficRequest, ...]
    options: Options = field(default_factory=dict)
    cache: str = "cold"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload:
    """What one source of traffic gave: one Traffic, or one for each step of a load that has several."""

    source: str
    traffics: tuple[Traffic, ...]
