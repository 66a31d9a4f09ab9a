"""Worker processes: what they see, and that none is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from paredown.environments import worker

HANGING = """
import os, sys, time
from paredown.environments import child

def act(work, report):
    report(0.5, str(os.getpid()))
    time.sleep(600)

sys.exit(child.run(act))
"""
PARENT = """
import pathlib, sys
from paredown.environments import worker
worker.run("hanging", {}, pathlib.Path(sys.argv[1]), on_progress=lambda fraction, what: print(what, flush=True))
"""


def test_another_environment_sees_our_source_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somebody/elses/packages")

    variables = worker._variables(tmp_path, Path("/another/bin/python"))

    (place,) = variables["PYTHONPATH"].split(os.pathsep)
    assert [path.name for path in Path(place).iterdir()] == ["paredown"]
    assert (Path(place) / "paredown" / "contracts" / "engine.py").is_file()


def test_our_own_python_keeps_the_users_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/users/plug-ins")

    assert worker._variables(tmp_path, None)["PYTHONPATH"].endswith(f"{os.pathsep}/users/plug-ins")


def test_a_worker_dies_with_its_parent_even_when_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=variables
    )
    with parent:
        assert parent.stdout is not None
        descriptor = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)

        gone, _, _ = select.select([descriptor], [], [], 20)

    os.close(descriptor)
    assert gone


def test_a_module_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(worker.WorkerFailed, match="ended with status 1") as caught:
        worker.run("no_such_module", {}, tmp_path, on_progress=lambda fraction, what: None)

    assert "No module named no_such_module" in caught.value.detail
