"""A server that somebody else runs, as what measures sees it: an address and nothing more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from paredown.hosts.scoring_client import HostInfo
from paredown.records.dialect import Dialect
from paredown.records.events import StartUp


@dataclass(frozen=True)
class Elsewhere:
    """`paredown.measure.running.Running` of a server at `url`. Calling it starts nothing: it is a `Start` too."""

    url: str
    api_key: str = "secret"
    model_name: str = "m"
    startup: StartUp | None = None
    started_ns: int = 0
    ca_file: Path | None = None
    dialect: Dialect = Dialect()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[Elsewhere]:
        yield self

    def process_ids(self) -> tuple[int, ...]:
        return ()

    def host_info(self) -> HostInfo | None:
        return None

    def raise_if_ended(self) -> None:
        """Nobody here knows."""
