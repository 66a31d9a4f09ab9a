"""A started engine, seen from the parent: where it listens, whether it lives, why it ended, and how to end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from paredown.errors import EngineDied, EngineError, EngineOutOfMemory
from paredown.hosts.process import Process
from paredown.hosts.scoring_client import DEFAULT_TIMEOUT_S, HostInfo, ScoringClient
from paredown.records.dialect import Dialect
from paredown.records.events import StartUp


@dataclass(frozen=True)
class Endpoint:
    """Where an engine answers. `url` ends before `/v1`: `http://127.0.0.1:8000`.

    ca_file: PEM file of the authorities that its TLS certificate is checked by; None = the system's
    """

    url: str
    api_key: str
    model_name: str
    ca_file: Path | None = None
    dialect: Dialect = Dialect()


class RunningEngine:
    """An engine that is ready. Use as a context manager: leaving it ends the process and everything it started.

    started_ns: `time.monotonic_ns()` just before the process was started
    startup:    ns since then; None for somebody else's endpoint
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        process: Process | None,
        started_ns: int,
        startup: StartUp | None,
        scoring_socket: Path | None = None,
        clean_up: Callable[[], None] | None = None,
    ) -> None:
        self.endpoint, self.started_ns, self.startup = endpoint, started_ns, startup
        self._process, self._scoring_socket, self._clean_up = process, scoring_socket, clean_up

    @property
    def url(self) -> str:
        return self.endpoint.url

    @property
    def api_key(self) -> str:
        return self.endpoint.api_key

    @property
    def model_name(self) -> str:
        """What requests name in `model`."""
        return self.endpoint.model_name

    @property
    def ca_file(self) -> Path | None:
        return self.endpoint.ca_file

    @property
    def dialect(self) -> Dialect:
        return self.endpoint.dialect

    @property
    def pid(self) -> int | None:
        """Process id, which is also its process group and session; None for somebody else's endpoint."""
        return self._process.pid if self._process is not None else None

    def process_ids(self) -> tuple[int, ...]:
        """Every process of the engine, its leader first; empty when it has ended or is somebody else's."""
        return self._process.process_ids() if self._process is not None else ()

    def log_tail(self) -> str:
        return self._process.log_tail() if self._process is not None else ""

    def alive(self) -> bool:
        """Whether its process lives. Somebody else's endpoint is always taken to live."""
        return self._process is None or self._process.alive()

    def why_it_ended(self) -> EngineError:
        """The error to raise after it stopped answering: waits a moment for the process to end."""
        if self._process is None:
            return EngineDied("The endpoint closed the connection.")
        if not self._process.wait(2.0):
            return EngineDied("The engine closed the connection, but its process lives on.", self.log_tail())
        return error_of_ended(self._process)

    def raise_if_ended(self, *, grace_s: float = 0.5) -> None:
        """Raises EngineOutOfMemory or EngineDied when the process has ended; for use after a failed request.

        A dying process closes its connections before it has ended, so it gets `grace_s` to do so.
        """
        if self._process is not None and self._process.wait(grace_s):
            raise self.why_it_ended()

    def scoring(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> ScoringClient:
        """A new connection to the scoring socket. Raises EngineError when this engine has none."""
        if self._scoring_socket is None:
            raise EngineError("This engine brings its own server and has no scoring socket.")
        return ScoringClient(self._scoring_socket, timeout_s=timeout_s, why_it_ended=self.why_it_ended)

    def host_info(self) -> HostInfo | None:
        """What our own host has counted; None for an engine that brings its own server. Raises EngineError."""
        if self._scoring_socket is None:
            return None
        with self.scoring() as client:
            return client.info()

    def close(self) -> None:
        """End the process group (SIGTERM, then SIGKILL) and reap it. Safe to call twice."""
        if self._process is not None:
            self._process.close()
        if self._clean_up is not None:
            self._clean_up()
            self._clean_up = None

    def __enter__(self) -> RunningEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def error_of_ended(process: Process) -> EngineError:
    """Class and say why a process ended that was not asked to."""
    code = process.exit_code
    assert code is not None
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit status {code}"
    if process.killed_for_memory():
        return EngineOutOfMemory(f"The engine's process {how}: out of memory.", process.log_tail())
    return EngineDied(f"The engine's process {how}.", process.log_tail())
