"""What a trial needs to know of a started engine, whoever started it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from paredown.hosts.scoring_client import HostInfo
from paredown.records.dialect import Dialect
from paredown.records.events import StartUp


class Running(Protocol):
    """An engine that is ready. `startup` is None for somebody else's endpoint, which has no process of ours.

    ca_file:   PEM file of the authorities that its TLS certificate is checked by; None = the system's
    host_info: what our own host counts (batching seen, KV cache); None for a server that is not ours
    """

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
    @property
    def ca_file(self) -> Path | None: ...
    @property
    def dialect(self) -> Dialect: ...
    def process_ids(self) -> tuple[int, ...]: ...
    def host_info(self) -> HostInfo | None: ...
    def raise_if_ended(self) -> None: ...


Start = Callable[[], AbstractContextManager[Running]]
"""Starts a fresh process of the engine; leaving the context ends it."""
