"""Requests without end from a traffic, no prompt twice: a prefix cache would make the second one look faster."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from paredown.records.traffic import TrafficRequest


class FreshPrompts:
    """The requests of a traffic in their order; when they are used up again from the first on, with a mark in front.

    All requests of one round bear the same mark, so that those which share a beginning still do. The mark makes a
    prompt a few tokens longer. `rounds` counts those that were begun.

    salt: also marks the first round, for a server that may have seen these prompts before
    """

    def __init__(self, requests: Sequence[TrafficRequest], salt: str = "") -> None:
        self._requests, self._salt, self.rounds = tuple(requests), salt, 0
        self._left = self._without_end()

    def take(self, count: int) -> tuple[TrafficRequest, ...]:
        return tuple(itertools.islice(self._left, count))

    def _without_end(self) -> Iterator[TrafficRequest]:
        while True:
            self.rounds += 1
            mark = self._salt if self.rounds == 1 else f"{self._salt}{self.rounds}"
            yield from (_marked(request, mark, self.rounds) for request in self._requests)


def _marked(request: TrafficRequest, mark: str, number: int) -> TrafficRequest:
    if not mark:
        return request
    first, *others = request.messages
    begun = replace(first, content=f"({mark}) {first.content}")
    return replace(request, id=f"{request.id}#{number}", messages=(begun, *others), prompt_tokens=None)
