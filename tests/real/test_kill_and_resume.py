"""SIGKILL at several points of a run on the fake engine: the same command goes on, nothing finished is repeated."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from paredown.evaluate import golden
from paredown.testing import extension, fake_models, fake_techniques

pytestmark = pytest.mark.real
MEASURED = ("trial", "blocks", "answers", "evaluation", "fidelity", "outcome")
TRAFFIC = "load_shape: single_stream\nsummary: short\nrequests:\n" + "".join(
    f"  - {{id: r{i}, messages: [{{role: user, content: 'Tell me about number {i}.'}}], output_tokens: 8}}\n"
    for i in range(24)
)


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    prompts = tmp_path / "prompts.jsonl"
    rows = [{"prompt": f"Question {i}?", "choices": ["yes", "no"], "answer": i % 2} for i in range(160)]
    prompts.write_text("\n".join(map(json.dumps, rows)))
    script = dataclasses.replace(fake_models.SENSIBLE, speeds=fake_models.fast(4000), weight_bytes=1_000_000)
    model = fake_models.make(tmp_path / "model", script, items=golden.load([str(prompts)]).items)
    (tmp_path / "short.yaml").write_text(TRAFFIC)
    extension.declare(tmp_path / "plug-ins", fake_techniques.DECLARED)
    return [
        *(sys.executable, "-m", "paredown", "run", str(model), "--golden", str(prompts)),
        *("--traffic", str(tmp_path / "short.yaml"), "--target", "weight_bytes<=60%", "--target", "quality_drop<=8pt"),
        *("--technique", "fake_8bit", "--run-dir", str(tmp_path / "run"), "--cache", str(tmp_path / "cache")),
    ]


def start(command: list[str], tmp_path: Path) -> subprocess.Popen[bytes]:
    variables = {**os.environ, "PYTHONPATH": str(tmp_path / "plug-ins")}
    return subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def entries(run: Path) -> Counter[tuple[str, str]]:
    if not (run / "record.sqlite").exists():
        return Counter()
    database = sqlite3.connect(f"file:{run / 'record.sqlite'}?mode=ro", uri=True)
    try:
        return Counter(database.execute("SELECT kind, key FROM entries").fetchall())
    except sqlite3.OperationalError:
        return Counter()
    finally:
        database.close()


def wait_for(run: Path, kind: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not any(found == kind for found, _ in entries(run)):
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline, f"no {kind} within two minutes"
        time.sleep(0.02)


@pytest.mark.parametrize("kinds", [("blocks", "answers", "smoke"), ("texts", "trial", "confirmed")], ids="-".join)
def test_a_killed_run_goes_on_and_repeats_nothing(command: list[str], tmp_path: Path, kinds: tuple[str, ...]) -> None:
    run = tmp_path / "run"
    for kind in kinds:
        process = start(command, tmp_path)
        wait_for(run, kind, process)
        engines = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        psutil.wait_procs(engines, timeout=5)
        assert not [one for one in engines if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    finished = start(command, tmp_path)
    _, errors = finished.communicate(timeout=240)
    assert finished.returncode == 0, errors.decode()
    repeated = {pair: count for pair, count in entries(run).items() if count > 1 and pair[0] in MEASURED}
    assert repeated == {}
    checked = subprocess.run([sys.executable, "-m", "paredown", "verify", str(run)], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr.decode()


def test_ctrl_c_leaves_a_resumable_run_and_no_engine(command: list[str], tmp_path: Path) -> None:
    process = start(command, tmp_path)
    wait_for(tmp_path / "run", "blocks", process)
    engines = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from here" in errors.decode()
    psutil.wait_procs(engines, timeout=5)
    assert not [one for one in engines if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
