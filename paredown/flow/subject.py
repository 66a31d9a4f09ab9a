"""What is measured: a model of ours on an engine, or a server that somebody else runs."""

from __future__ import annotations

import ipaddress
import os
import sys
import urllib.parse
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from paredown import environments, registry
from paredown import machine as machines
from paredown.client import dialect
from paredown.client import server as client_server
from paredown.client.server import Server
from paredown.contracts import Engine
from paredown.environments.installed import missing
from paredown.errors import MissingPackageError, UserError
from paredown.flow import prepare
from paredown.flow.progress import Progress
from paredown.hosts import launch
from paredown.hosts import tokenizer as tokenizers
from paredown.measure.running import Running
from paredown.models import artifact as artifacts
from paredown.models import checks, describe, formats, source
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.figure import Options
from paredown.records.machine import Machine
from paredown.traffic.remote_tokens import RemoteTokens
from paredown.traffic.tokens import Tokens

START_TIMEOUT_S = 600.0
PROBE_TIMEOUT_S = 60.0
ENDPOINT = "endpoint"
SOURCE_FORMAT = "hf"
OnProgress = Callable[[float, str], None]


@dataclass(frozen=True)
class ModelAsked:
    """A model of ours. `engine`: empty = the reference engine of its format, else any that opens it."""

    model: str
    engine: str = ""
    device: str = "cpu"
    allow_pickle: bool = False
    trust_remote_code: bool = False


@dataclass(frozen=True)
class ServerAsked:
    """Somebody else's server. `tokenizer`: a model directory or `demo`; empty = the server's own /tokenize."""

    url: str
    model: str = ""
    api_key_variable: str = ""
    ca_file: Path | None = None
    tokenizer: str = ""


@dataclass(frozen=True)
class Subject:
    """fresh: whether each block can have a process of its own; facts and artifact are None for a server."""

    name: str
    candidate: Candidate
    engine: Engine
    machine: Machine
    start: Callable[[], AbstractContextManager[Running]]
    tokens: Tokens
    python: Path
    device: str
    fresh: bool
    artifact: Artifact | None = None
    facts: ModelFacts | None = None
    cautions: tuple[str, ...] = ()


def of_model(asked: ModelAsked, directory: Path, cache: Path, progress: Progress) -> Subject:
    """Raises UserError when there is no such model or engine, or none that opens it."""
    with progress.stage(f"Model {asked.model}") as stage:
        path = _located(asked, cache, stage.update)
        facts = describe.facts(path)
        made = artifacts.describe(
            path,
            format=formats.detect(path),
            parameters=facts.parameters,
            known_digests=cache / "digests.json",
        )
    host = machines.describe()
    engine = _engine_for(made, asked.engine)
    candidate = prepare.resolved(engine.name, Rung.BASELINE, engine, {"main": made}, host, {})
    python = environments.python_of(engine.environment, cache) or Path(sys.executable)

    def start() -> AbstractContextManager[Running]:
        return launch.start(
            engine, candidate, directory / "work", timeout_s=START_TIMEOUT_S, device=asked.device, python=python
        )

    return Subject(
        name=asked.model,
        candidate=candidate,
        engine=engine,
        machine=host,
        start=start,
        tokens=tokenizers.load(path),
        python=python,
        device=asked.device,
        fresh=True,
        artifact=made,
        facts=facts,
        cautions=(facts.caution,) if facts.caution else (),
    )


def _located(asked: ModelAsked, cache: Path, on_progress: OnProgress) -> Path:
    """The directory of the model. An artifact of another format (ONNX, OpenVINO, quantized …) is taken as it is."""
    given = Path(asked.model).expanduser()
    if given.is_dir() and any(given.iterdir()) and formats.detect(given) != SOURCE_FORMAT:
        checks.check_code(given, trust_remote_code=asked.trust_remote_code)
        return given.resolve()
    return source.resolve(
        asked.model,
        cache=cache,
        allow_pickle=asked.allow_pickle,
        trust_remote_code=asked.trust_remote_code,
        on_progress=on_progress,
    )


def of_server(asked: ServerAsked, directory: Path, cache: Path, progress: Progress) -> Subject:
    """Ask the server what it takes. Raises UserError when it cannot be reached, refuses the key or the model."""
    url = base_url(asked.url)
    if asked.ca_file is not None and not asked.ca_file.is_file():
        raise UserError(f"The file of authorities {asked.ca_file} does not exist. Give a PEM file with --ca-file.")
    engine, host = registry.engine(ENDPOINT), machines.describe()
    options: Options = {
        "url": url,
        "model": asked.model,
        "api_key_variable": asked.api_key_variable,
        "ca_file": str(asked.ca_file or ""),
    }
    key = launch.endpoint_of(options).api_key
    with progress.stage(f"Asking {url} what it takes"):
        model = asked.model or dialect.first_model(Server(url, key, "", asked.ca_file), PROBE_TIMEOUT_S)
        found = dialect.probe(Server(url, key, model, asked.ca_file), PROBE_TIMEOUT_S)
    taken: Options = {
        "model": model,
        "ignore_eos": found.ignore_eos,
        "return_token_ids": found.return_token_ids,
        "include_usage": found.include_usage,
        "max_tokens_field": found.max_tokens_field,
    }
    candidate = prepare.resolved(ENDPOINT, Rung.BASELINE, engine, {}, host, {**options, **taken})

    def start() -> AbstractContextManager[Running]:
        return launch.start(engine, candidate, directory / "work", timeout_s=PROBE_TIMEOUT_S)

    tokens: Tokens = RemoteTokens.of(url, key, model, asked.ca_file)
    if asked.tokenizer:
        tokens = tokenizers.load(source.resolve(asked.tokenizer, cache=cache))
    return Subject(
        name=f"{model} at {url}",
        candidate=candidate,
        engine=engine,
        machine=host,
        start=start,
        tokens=tokens,
        python=Path(sys.executable),
        device="cpu",
        fresh=False,
        cautions=_server_cautions(url),
    )


def base_url(given: str) -> str:
    """The base of a server without `/v1` and a slash at its end. Raises UserError for what is no http(s) URL."""
    text = given if "://" in given else f"http://{given}"
    parts = urllib.parse.urlsplit(text)
    try:
        well_formed = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        well_formed = False
    if not well_formed or parts.query or parts.username:
        raise UserError(
            f"{given!r} is no address of a server. Give for example --endpoint http://127.0.0.1:8000; a key goes into "
            "an environment variable (--api-key-variable NAME), not into the address."
        )
    return client_server.base_url(text)


def _server_cautions(url: str) -> tuple[str, ...]:
    host = urllib.parse.urlsplit(url).hostname or ""
    cautions = ["Nothing is known of the server's process: start-up, memory, energy and sizes are not measured."]
    if not _is_local(host):
        cautions.append(f"{host} is reached over a network, whose delays are part of every latency.")
    return tuple(cautions)


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == os.uname().nodename


def _engine_for(made: Artifact, wanted: str) -> Engine:
    if wanted:
        engine = registry.engine(wanted)
        if made.format not in engine.opens:
            opening = ", ".join(e.name for e in registry.engines() if made.format in e.opens) or "none"
            raise UserError(
                f"The engine {wanted} does not open the format {made.format!r} of {made.path}. These do: {opening}."
            )
        candidates = [engine]
    else:
        candidates = sorted((e for e in registry.engines() if made.format in e.opens), key=lambda e: not e.baseline)
    if not candidates:
        raise UserError(f"No engine opens the format {made.format!r} of {made.path}.")
    lacking = {engine.name: missing(engine.needs) for engine in candidates}
    usable = [engine for engine in candidates if lacking[engine.name] is None]
    if not usable:
        first = candidates[0]
        reason = lacking[first.name] or ""
        raise MissingPackageError(
            f"The engine {first.name}", ", ".join(first.needs.packages), reason.rpartition("run: ")[2]
        )
    return usable[0]
