"""Requests that bring an engine to its working state before t = 0, without filling a prefix cache for the trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paredown.records.traffic import Message, TrafficRequest

WARM_UP_TOKENS = 8


def requests_like(requests: Sequence[TrafficRequest], count: int) -> tuple[TrafficRequest, ...]:
    """`count` requests of like lengths: the words of the originals in reverse order, so that no prefix is shared."""
    return tuple(
        replace(
            request,
            id=f"warm-up-{index}",
            messages=tuple(_reversed(message) for message in request.messages),
            output_tokens=min(request.output_tokens, WARM_UP_TOKENS),
        )
        for index, request in enumerate(requests[i % len(requests)] for i in range(count))
    )


def _reversed(message: Message) -> Message:
    return Message(message.role, " ".join(reversed(message.content.split())))
