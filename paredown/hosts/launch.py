"""Starts an engine in a process of its own and waits until it is ready; failures come out classed."""

from __future__ import annotations

import http.client
import os
import secrets
import selectors
import shutil
import socket
import ssl
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import paredown
from paredown.contracts import Engine, OpenContext, ServedBy, ServerCommand
from paredown.errors import EngineDied, EngineError, EngineHung, EngineOutOfMemory, RecordError, UserError
from paredown.hosts import parent_death
from paredown.hosts.host_spec import HostSpec, LifeCycleEvent
from paredown.hosts.process import Process
from paredown.hosts.running import Endpoint, RunningEngine, error_of_ended
from paredown.records.candidate import Candidate
from paredown.records.codec import dumps, loads
from paredown.records.dialect import Dialect
from paredown.records.events import StartUp
from paredown.records.figure import Options

LONGEST_SOCKET_PATH = 100
POLL_S = 0.05


@dataclass(frozen=True)
class _Launch:
    """What every way of starting needs to know."""

    engine: Engine
    candidate: Candidate
    work_dir: Path
    timeout_s: float
    device: str
    python: Path
    port: int
    started_ns: int

    def artifacts(self) -> dict[str, Path]:
        return {role: artifact.path.resolve() for role, artifact in self.candidate.artifacts.items()}

    def left_s(self) -> float:
        return self.timeout_s - (time.monotonic_ns() - self.started_ns) / 1e9

    def too_slow(self, doing: str, detail: str) -> EngineHung:
        return EngineHung(f"{self.engine.name} was not ready within {self.timeout_s:g} s ({doing}).", detail)


def start(
    engine: Engine,
    candidate: Candidate,
    work_dir: Path,
    *,
    timeout_s: float,
    device: str = "cpu",
    python: Path | None = None,
    port: int = 0,
) -> RunningEngine:
    """Start the candidate's engine and wait until it answers.

    work_dir: log, host specification and socket go there; made when missing
    python:   interpreter of the engine's own environment; default: this one
    port:     0 = any free one
    Raises EngineDied, EngineHung or EngineOutOfMemory; nothing of the engine is left running then.
    """
    work_dir = work_dir.resolve()
    work_dir.mkdir(parents=True, exist_ok=True)
    launch = _Launch(
        engine, candidate, work_dir, timeout_s, device, python or Path(sys.executable), port, time.monotonic_ns()
    )
    starters = {ServedBy.HOST: _start_host, ServedBy.OWN: _start_own_server, ServedBy.REMOTE: _reach_remote}
    return starters[engine.served_by](launch)


def _start_process(
    launch: _Launch, argv: Sequence[str], run_dir: Path, environment: Mapping[str, str], *, read_stdout: bool
) -> Process:
    try:
        return Process(argv, cwd=run_dir, log=run_dir / "engine.log", environment=environment, read_stdout=read_stdout)
    except OSError as error:
        raise EngineDied(f"{launch.engine.name} could not be started: {error}") from error


# ── our own host ─────────────────────────────────────────────────────────────────────────────────────────────────


def _start_host(launch: _Launch) -> RunningEngine:
    run_dir = Path(tempfile.mkdtemp(prefix="host-", dir=launch.work_dir))
    socket_dir = run_dir
    if len(str(run_dir / "scoring.sock")) > LONGEST_SOCKET_PATH:
        socket_dir = Path(tempfile.mkdtemp(prefix="paredown-"))
    spec = HostSpec(
        engine=launch.engine.name,
        artifacts={role: str(path) for role, path in launch.artifacts().items()},
        options=launch.candidate.engine_options,
        device=launch.device,
        model_name=launch.candidate.name,
        api_key=secrets.token_urlsafe(24),
        scoring_socket=str(socket_dir / "scoring.sock"),
        parent_pid=os.getpid(),
        port=launch.port,
    )
    spec_path = run_dir / "SPEC.json"
    spec_path.touch(mode=0o600)
    spec_path.write_text(dumps(spec))

    def clean_up() -> None:
        for path in {spec_path, Path(spec.scoring_socket)}:
            path.unlink(missing_ok=True)
        if socket_dir != run_dir:
            shutil.rmtree(socket_dir, ignore_errors=True)

    argv = [str(launch.python), "-P", "-m", "paredown.hosts", str(spec_path)]
    process = _start_process(launch, argv, run_dir, _environment(run_dir), read_stdout=True)
    try:
        ready = _wait_for_ready(launch, process)
    except BaseException:
        process.close()
        clean_up()
        raise
    return RunningEngine(
        Endpoint(f"http://127.0.0.1:{ready.port}", spec.api_key, spec.model_name),
        process=process,
        started_ns=launch.started_ns,
        startup=ready.startup,
        scoring_socket=Path(spec.scoring_socket),
        clean_up=clean_up,
    )


def _environment(run_dir: Path) -> dict[str, str]:
    """Our environment, and a path with this package alone: the interpreter's own packages stay its own."""
    source = run_dir / "source"
    source.mkdir()
    (source / "paredown").symlink_to(Path(paredown.__file__).resolve().parent, target_is_directory=True)
    return {
        **os.environ,
        "PYTHONPATH": str(source),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


@dataclass(frozen=True)
class _Ready:
    startup: StartUp
    port: int


def _wait_for_ready(launch: _Launch, process: Process) -> _Ready:
    loaded_ns: int | None = None
    for line in _lines(launch, process):
        try:
            event = loads(LifeCycleEvent, line)
        except RecordError as error:
            raise EngineDied(f"{launch.engine.name} wrote what is no life-cycle event: {error}") from error
        since_start = event.t_ns - launch.started_ns
        if event.event == "loaded":
            loaded_ns = since_start
        elif event.event == "ready":
            return _Ready(StartUp(loaded_ns=loaded_ns, ready_ns=since_start), event.port)
        elif event.event == "failed":
            raise _error_of_failed(event, process)
    process.wait(max(launch.left_s(), POLL_S))
    raise error_of_ended(process) if not process.alive() else launch.too_slow("starting", process.log_tail())


def _lines(launch: _Launch, process: Process) -> Iterator[str]:
    """Lines of the process's standard output until it closes it; raises EngineHung when time is up."""
    descriptor, rest = process.stdout.fileno(), b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if not selector.select(max(launch.left_s(), 0)):
                raise launch.too_slow("loading the model", process.log_tail())
            data = os.read(descriptor, 65536)
            if not data:
                return
            *whole, rest = (rest + data).split(b"\n")
            yield from (line.decode() for line in whole)


def _error_of_failed(event: LifeCycleEvent, process: Process) -> EngineError:
    kind = EngineOutOfMemory if event.error == "memory" else EngineDied
    return kind(event.message, detail=event.traceback or process.log_tail())


# ── an engine that brings its own server ─────────────────────────────────────────────────────────────────────────


def _start_own_server(launch: _Launch) -> RunningEngine:
    assert launch.engine.command is not None, f"{launch.engine.name} is served by its own server but has no command"
    context = OpenContext(launch.artifacts(), launch.candidate.engine_options, launch.device)
    endpoint = Endpoint(
        f"http://127.0.0.1:{launch.port or _free_port()}", secrets.token_urlsafe(24), launch.candidate.name
    )
    command = _filled_in(launch.engine.command(context), launch, endpoint)
    run_dir = Path(tempfile.mkdtemp(prefix="server-", dir=launch.work_dir))
    argv = [sys.executable, "-I", parent_death.__file__, str(os.getpid()), *command.argv]
    environment = {**os.environ, **command.environment_variables}
    process = _start_process(launch, argv, run_dir, environment, read_stdout=False)
    try:
        ready_ns = _wait_for_health(launch, process, endpoint, command.health_path)
    except BaseException:
        process.close()
        raise
    startup = StartUp(loaded_ns=None, ready_ns=ready_ns - launch.started_ns)
    return RunningEngine(endpoint, process=process, started_ns=launch.started_ns, startup=startup)


def _filled_in(command: ServerCommand, launch: _Launch, endpoint: Endpoint) -> ServerCommand:
    """`{port}`, `{api_key}`, `{model_name}` and `{python}` filled in, in arguments and environment variables."""
    values = {
        "{port}": endpoint.url.rpartition(":")[2],
        "{api_key}": endpoint.api_key,
        "{model_name}": endpoint.model_name,
        "{python}": str(launch.python),
    }

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    return ServerCommand(
        tuple(fill(word) for word in command.argv),
        {name: fill(value) for name, value in command.environment_variables.items()},
        command.health_path,
    )


def _wait_for_health(launch: _Launch, process: Process, endpoint: Endpoint, path: str) -> int:
    """Time (monotonic, ns) at which the health path answered 200."""
    while launch.left_s() > 0:
        if not process.alive():
            raise error_of_ended(process)
        try:
            if _get(endpoint, path, timeout_s=min(5.0, max(launch.left_s(), POLL_S))) == 200:
                return time.monotonic_ns()
        except (OSError, http.client.HTTPException):
            pass  # not listening yet
        process.wait(POLL_S)
    raise launch.too_slow(f"waiting for {path}", process.log_tail())


def _get(endpoint: Endpoint, path: str, timeout_s: float) -> int:
    parts = urllib.parse.urlsplit(endpoint.url)
    assert parts.hostname is not None
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        trusted = ssl.create_default_context(cafile=str(endpoint.ca_file) if endpoint.ca_file else None)
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout_s, context=trusted)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
    key = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    try:
        connection.request("GET", parts.path + path, headers=key)
        return connection.getresponse().status
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# ── somebody else's endpoint ─────────────────────────────────────────────────────────────────────────────────────


def endpoint_of(options: Options, default_model: str = "") -> Endpoint:
    """Options `url` (without `/v1`), `model`, `api_key_variable` (environment variable that holds the key), `ca_file`
    and the fields of Dialect. Raises UserError when the variable is not set.
    """
    url, variable = str(options["url"]).rstrip("/"), str(options.get("api_key_variable") or "")
    if variable and not os.environ.get(variable):
        raise UserError(f"The key of {url} is to be in the environment variable {variable}, which is not set.")
    dialect = Dialect(
        ignore_eos=bool(options.get("ignore_eos", True)),
        return_token_ids=bool(options.get("return_token_ids", True)),
        include_usage=bool(options.get("include_usage", True)),
        max_tokens_field=str(options.get("max_tokens_field") or "max_tokens"),
    )
    authorities = str(options.get("ca_file") or "")
    return Endpoint(
        url,
        os.environ.get(variable, "") if variable else "",
        str(options.get("model") or default_model),
        Path(authorities) if authorities else None,
        dialect,
    )


def _reach_remote(launch: _Launch) -> RunningEngine:
    """The server that the options of the engine `endpoint` describe."""
    endpoint = endpoint_of(launch.candidate.engine_options, launch.candidate.name)
    url, variable = endpoint.url, str(launch.candidate.engine_options.get("api_key_variable") or "")
    try:
        status = _get(endpoint, "/v1/models", timeout_s=launch.timeout_s)
    except TimeoutError as error:
        raise launch.too_slow(f"waiting for {url}", str(error)) from error
    except (OSError, http.client.HTTPException) as error:
        raise EngineDied(f"Nothing answers at {url}: {error}") from error
    if status in (401, 403):
        raise UserError(
            f"{url} refused the key (HTTP {status}). Put the right one in {variable or 'api_key_variable'}."
        )
    return RunningEngine(endpoint, process=None, started_ns=launch.started_ns, startup=None)
