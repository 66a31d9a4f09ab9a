"""What a host process is told, in SPEC.json, and what it tells while it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paredown.records.figure import Options


@dataclass(frozen=True)
class HostSpec:
    """Everything that one host needs.

    artifacts:      directory of each artifact by role
    scoring_socket: path of the Unix socket (the kernel allows about 100 bytes)
    parent_pid:     the host ends when this process is no longer its parent; 0 = it may outlive its parent
    port:           0 = the kernel chooses
    """

    engine: str
    artifacts: Mapping[str, str]
    options: Options
    device: str
    model_name: str
    api_key: str
    scoring_socket: str
    parent_pid: int
    host: str = "127.0.0.1"
    port: int = 0


@dataclass(frozen=True)
class LifeCycleEvent:
    """One line on the host's standard output: `started`, `loaded`, `ready` (with the port) or `failed`.

    t_ns:  `time.monotonic_ns()`, comparable between processes of one host
    error: of `failed`: `memory`, `import`, `artifact` or `other`
    """

    event: str
    t_ns: int = 0
    port: int = 0
    error: str = ""
    message: str = ""
    traceback: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
