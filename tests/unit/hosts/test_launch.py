from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from paredown import registry
from paredown.client import streaming
from paredown.contracts import (
    Batching,
    Engine,
    ScoreRequest,
    ScoringLevel,
    ServedBy,
    ServerCommand,
)
from paredown.errors import EngineDied, EngineError, EngineHung, EngineOutOfMemory, UserError
from paredown.hosts import launch, process
from paredown.hosts.process import Process
from paredown.hosts.running import RunningEngine
from paredown.records.candidate import Candidate, Rung
from paredown.records.dialect import Dialect
from paredown.records.figure import Scalar
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing import candidates, fake_models, own_server
from paredown.testing.scripted_server import serving_in_thread

START_S = 60.0


def start(tmp_path: Path, *, timeout_s: float = START_S, **faults: object) -> RunningEngine:
    candidate = candidates.fake(tmp_path / "model", fake_models.faulty(**faults))
    return launch.start(registry.engine("fake"), candidate, tmp_path / "work", timeout_s=timeout_s)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """Every process that a test starts."""
    started: list[Process] = []

    class Recorded(Process):
        def __init__(self, *arguments: object, **named: object) -> None:
            super().__init__(*arguments, **named)
            started.append(self)

    monkeypatch.setattr(launch, "Process", Recorded)
    return started


def ask(running: RunningEngine) -> str:
    """The failure class of one request, empty when it went well."""
    request = TrafficRequest("a", (Message("user", "hello"),), 40)
    (events,) = streaming.complete(
        running.url, running.api_key, running.model_name, [request], concurrency=1, ignore_eos=True, timeout_s=20
    )
    return events.failure


def has_ended(pid: int) -> bool:
    """Whether a process ends within 20 s; it need not be a child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 20)[0])
    finally:
        os.close(descriptor)


# ── our own host ──


def test_an_engine_is_started_serves_and_is_ended(tmp_path: Path) -> None:
    with start(tmp_path) as running:
        pid = running.pid
        assert pid is not None
        assert running.process_ids() == (pid,)
        assert running.startup is not None
        assert running.startup.loaded_ns is not None
        assert 0 < running.startup.loaded_ns <= running.startup.ready_ns
        assert ask(running) == ""
        assert running.alive()
    assert not running.alive()
    assert running.process_ids() == ()
    assert has_ended(pid)


def test_leaving_removes_the_key_and_the_socket(tmp_path: Path) -> None:
    with start(tmp_path) as running:
        (spec,) = (tmp_path / "work").glob("host-*/SPEC.json")
        assert spec.stat().st_mode & 0o077 == 0
        assert json.loads(spec.read_text())["api_key"] == running.api_key
    assert not spec.exists()
    assert not list((tmp_path / "work").glob("host-*/scoring.sock"))


def test_only_this_package_is_put_on_the_path_of_the_engines_python(tmp_path: Path) -> None:
    with start(tmp_path):
        (source,) = (tmp_path / "work").glob("host-*/source")
        assert [entry.name for entry in source.iterdir()] == ["paredown"]


def test_a_long_path_does_not_keep_the_socket_from_working(tmp_path: Path) -> None:
    candidate = candidates.fake(tmp_path / "model")
    deep = tmp_path / ("d" * 120)
    with (
        launch.start(registry.engine("fake"), candidate, deep, timeout_s=START_S) as running,
        running.scoring() as client,
    ):
        assert client.computed_tokens == 0


@pytest.mark.parametrize(
    ("faults", "kind", "sentence"),
    [
        ({"oom_on_load": True}, EngineOutOfMemory, "Out of memory"),
        ({"fail_on_load": "unknown operator"}, EngineDied, "unknown operator"),
        ({"die_on_load": True}, EngineDied, "killed by signal 9"),
    ],
)
def test_an_engine_that_does_not_load_is_classed_and_leaves_nothing_running(
    tmp_path: Path, processes: list[Process], faults: dict[str, object], kind: type[EngineError], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence) as caught:
        start(tmp_path, **faults)
    assert type(caught.value) is kind
    assert not processes[0].alive()


@pytest.mark.slow
def test_an_engine_that_is_not_ready_in_time_has_hung_and_is_ended(tmp_path: Path, processes: list[Process]) -> None:
    with pytest.raises(EngineHung, match="not ready within 2 s"):
        start(tmp_path, timeout_s=2.0, hang_on_load=True)
    assert not processes[0].alive()


def test_an_artifact_without_a_tokenizer_says_so(tmp_path: Path) -> None:
    candidate = candidates.fake(tmp_path / "model")
    (tmp_path / "model" / "byte_tokenizer.json").unlink()
    with pytest.raises(EngineDied, match="tokenizer"):
        launch.start(registry.engine("fake"), candidate, tmp_path / "work", timeout_s=START_S)


def test_a_python_that_is_not_there_is_an_engine_that_died(tmp_path: Path) -> None:
    candidate = candidates.fake(tmp_path / "model")
    with pytest.raises(EngineDied, match="No such file"):
        launch.start(
            registry.engine("fake"), candidate, tmp_path / "work", timeout_s=START_S, python=tmp_path / "python"
        )


def test_an_engine_that_dies_while_it_serves_is_recognised_after_the_failed_request(tmp_path: Path) -> None:
    with start(tmp_path, die_after_tokens=5) as running:
        assert ask(running) != ""
        with pytest.raises(EngineDied, match="signal 9"):
            running.raise_if_ended()


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        ({"die_in_scoring": True}, EngineDied),
        ({"hang_in_scoring": True}, EngineHung),
        ({"oom_in_scoring": True}, EngineOutOfMemory),
    ],
)
def test_a_failure_while_scoring_is_classed(tmp_path: Path, faults: dict[str, object], kind: type[EngineError]) -> None:
    with start(tmp_path, **faults) as running, running.scoring() as client:
        with pytest.raises(kind) as caught:
            client.score([ScoreRequest((1, 2, 3), 1)], timeout_s=1.0 if kind is EngineHung else 30.0)
        assert type(caught.value) is kind


def test_a_conversation_that_cannot_be_rendered_is_an_error_and_the_connection_goes_on(tmp_path: Path) -> None:
    candidate = candidates.fake(tmp_path / "model")
    (tmp_path / "model" / "byte_tokenizer.json").write_text("{}")
    with (
        launch.start(registry.engine("fake"), candidate, tmp_path / "work", timeout_s=START_S) as running,
        running.scoring() as client,
    ):
        with pytest.raises(EngineError, match="no chat template"):
            client.encode([[Message("user", "hi")]])
        assert client.encode_texts(["hi"]) == ((104, 105),)


def test_no_engine_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    candidates.fake(tmp_path / "model")
    code = (
        "import pathlib, signal\n"
        "from paredown import registry\n"
        "from paredown.hosts import launch\n"
        "from paredown.testing import candidates\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "one = candidates.candidate('fake', here / 'model', 'fake')\n"
        "running = launch.start(registry.engine('fake'), one, here / 'work', timeout_s=60)\n"
        "print(running.pid, flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not select.select([os.pidfd_open(pid)], [], [], 0)[0]
        parent.send_signal(signal.SIGKILL)
    assert has_ended(pid)


def test_a_kill_while_the_kernel_kills_for_memory_is_out_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(tmp_path) as running:
        counted = process._memory_kills()
        monkeypatch.setattr(process, "_memory_kills", lambda: counted + 1)
        assert running.pid is not None
        os.kill(running.pid, signal.SIGKILL)
        assert isinstance(running.why_it_ended(), EngineOutOfMemory)


# ── an engine that brings its own server ──


def own(*more: str) -> Engine:
    return Engine(
        name="own",
        summary="",
        opens=("fake",),
        served_by=ServedBy.OWN,
        batching=Batching.CONTINUOUS,
        scoring=ScoringLevel.NONE,
        resolve=lambda artifact, machine, wanted: wanted,
        command=lambda context: ServerCommand(("{python}", own_server.__file__, "{port}", *more)),
    )


def start_own(tmp_path: Path, *more: str, timeout_s: float = START_S) -> RunningEngine:
    return launch.start(own(*more), candidates.fake(tmp_path / "model"), tmp_path / "work", timeout_s=timeout_s)


def test_an_own_server_is_started_and_ended_with_its_children(tmp_path: Path) -> None:
    with start_own(tmp_path) as running:
        server, child = running.process_ids()
        assert server == running.pid
        assert running.startup is not None
        assert running.startup.loaded_ns is None
        with pytest.raises(EngineError, match="no scoring socket"):
            running.scoring()
    assert has_ended(server)
    assert has_ended(child)


def test_an_own_server_that_never_gets_healthy_has_hung(tmp_path: Path, processes: list[Process]) -> None:
    with pytest.raises(EngineHung, match="/health"):
        start_own(tmp_path, "--never-ready", timeout_s=1.0)
    assert not processes[0].alive()


def test_an_own_server_that_says_it_has_no_memory_is_out_of_memory(tmp_path: Path) -> None:
    with pytest.raises(EngineOutOfMemory) as caught:
        start_own(tmp_path, "--out-of-memory")
    assert "no memory for the weights" in caught.value.detail


# ── somebody else's endpoint ──

Reach = Callable[..., RunningEngine]


@pytest.fixture
def reach(tmp_path: Path) -> Reach:
    remote = Engine(
        name="endpoint",
        summary="",
        opens=(),
        served_by=ServedBy.REMOTE,
        batching=Batching.CONTINUOUS,
        scoring=ScoringLevel.NONE,
        resolve=lambda artifact, machine, wanted: wanted,
    )

    def start_remote(**options: Scalar) -> RunningEngine:
        candidate = Candidate("theirs", Rung.BASELINE, "endpoint", options, {})
        return launch.start(remote, candidate, tmp_path, timeout_s=10)

    return start_remote


def test_an_endpoint_is_reached_with_the_key_of_its_variable(reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", "secret")
    with serving_in_thread(lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"]) as server:
        with reach(url=server.url, model="big", api_key_variable="THEIR_KEY") as running:
            assert (running.url, running.model_name, running.pid) == (server.url, "big", None)
            assert running.alive()
            assert running.process_ids() == ()
        assert server.received[0].headers["authorization"] == "Bearer secret"


def test_a_key_variable_that_is_not_set_is_named(reach: Reach) -> None:
    with pytest.raises(UserError, match="NOT_SET"):
        reach(url="http://127.0.0.1:1", api_key_variable="NOT_SET")


def test_an_endpoint_that_refuses_the_key_is_the_users_mistake(reach: Reach) -> None:
    with (
        serving_in_thread(lambda request: [b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"]) as server,
        pytest.raises(UserError, match="refused the key"),
    ):
        reach(url=server.url)


def test_an_endpoint_that_is_not_there_has_died(reach: Reach) -> None:
    with pytest.raises(EngineDied, match="Nothing answers"):
        reach(url="http://127.0.0.1:1")


def test_what_a_server_takes_is_read_from_the_options_of_its_candidate() -> None:
    options = {"url": "http://h:1/", "model": "m", "ignore_eos": False, "max_tokens_field": "max_completion_tokens"}
    endpoint = launch.endpoint_of({**options, "return_token_ids": False, "include_usage": False, "ca_file": "a.pem"})

    assert (endpoint.url, endpoint.model_name, endpoint.ca_file) == ("http://h:1", "m", Path("a.pem"))
    assert endpoint.dialect == Dialect(
        ignore_eos=False, return_token_ids=False, include_usage=False, max_tokens_field="max_completion_tokens"
    )
    assert launch.endpoint_of(options).dialect.include_usage
