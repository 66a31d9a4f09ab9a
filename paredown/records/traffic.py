"""Requests to send, and in what shape."""

from __future__ import annotations

from dataclasses import dataclass, field

from paredown.records.figure import Options


@dataclass(frozen=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True)
class TrafficRequest:
    """One request of a workload. `output_tokens` is forced (the model may not stop early) in speed trials."""

    id: str
    messages: tuple[Message, ...]
    output_tokens: int


@dataclass(frozen=True)
class Traffic:
    """A named workload: requests and the load shape that sends them.

    options: of the load shape, for example {"concurrency": 16}
    """

    name: str
    summary: str
    load_shape: str
    requests: tuple[TrafficRequest, ...]
    options: Options = field(default_factory=dict)
