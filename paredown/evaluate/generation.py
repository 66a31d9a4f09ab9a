"""Greedy answers of a started engine, as it serves them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from paredown.client import streaming
from paredown.records.events import RequestEvents
from paredown.records.traffic import TrafficRequest

Complete = Callable[..., tuple[RequestEvents, ...]]


class Served(Protocol):
    """A started engine, whoever started it."""

    @property
    def url(self) -> str: ...
    @property
    def api_key(self) -> str: ...
    @property
    def model_name(self) -> str: ...
    def raise_if_ended(self) -> None: ...


def greedy(
    running: Served,
    requests: Sequence[TrafficRequest],
    *,
    concurrency: int,
    timeout_s: float,
    complete: Complete = streaming.complete,
    **more: Any,
) -> tuple[RequestEvents, ...]:
    """Every answer to its natural end, in the order of the requests; a failed one is in its events.

    more: further arguments of `streaming.complete` (`on_done`)
    Raises the EngineError of an engine whose process ended meanwhile.
    """
    events = complete(
        running.url,
        running.api_key,
        running.model_name,
        requests,
        concurrency=concurrency,
        ignore_eos=False,
        timeout_s=timeout_s,
        **more,
    )
    if any(one.failure for one in events):
        running.raise_if_ended()
    return events
