"""What a trial needs to know of a started engine, whoever started it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from paredown.records.events import StartUp


class Running(Protocol):
    """An engine that is ready. `startup` is None for somebody else's endpoint, which has no process of ours."""

    @property
    def url(self) -> str: ...
    @property
    def api_key(self) -> str: ...
    @property
    def model_name(self) -> str: ...
    @property
    def startup(self) -> StartUp | None: ...
    @property
    def started_ns(self) -> int: ...
    def process_ids(self) -> tuple[int, ...]: ...
    def raise_if_ended(self) -> None: ...


Start = Callable[[], AbstractContextManager[Running]]
"""Starts a fresh process of the engine; leaving the context ends it."""
