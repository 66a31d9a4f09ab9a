"""The command line: what loads, what is refused and how, what goes to which stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from paredown.cli.main import VERBS

HEAVY = ("torch", "transformers", "scipy", "numpy", "pydantic", "aiohttp", "rich", "onnxruntime_genai", "openvino")


def paredown(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "paredown", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("statement", ["import paredown", "import paredown.contracts, paredown.cli.main"])
def test_importing_loads_no_heavy_library(statement: str) -> None:
    code = f"{statement}; import sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "[]"


def test_help_lists_every_verb() -> None:
    shown = paredown("--help")
    assert shown.returncode == 0
    for verb in VERBS:
        assert f"\n  {verb} " in shown.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself(verb: str) -> None:
    shown = paredown(verb, "--help")
    assert shown.returncode == 0
    assert shown.stdout.startswith("Usage: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("runn", "demo"), "Did you mean 'run'?"),
        (("run", "no/such/model/anywhere"), "Unknown model 'no/such/model/anywhere'"),
        (("run", "demo", "--target", "ttfp<=1s"), "Did you mean 'ttft'?"),
        (("run", "demo", "--target", "quality_drop<=0pt"), "can never be shown"),
        (("run", "demo", "--technique", "onnx_int9"), "Did you mean 'onnx_int8'?"),
        (("run", "demo", "--traffic", "chatt"), "Did you mean 'chat'?"),
        (("run", "demo", "--golden", "missing.jsonl"), "missing.jsonl"),
        (("evaluate", "demo", "--scorer", "judge:modle=x"), "Did you mean 'model'?"),
        (("golden", "gone.jsonl", "--model", "demo", "--out", "g.jsonl"), "Cannot read the log gone.jsonl"),
        (("run",), "model"),
        (("verify", "nowhere"), "holds no run"),
        (("measure",), "Give either a MODEL"),
        (("measure", "demo", "--endpoint", "http://127.0.0.1:9"), "Give either a MODEL"),
        (("measure", "demo", "--model-name", "x"), "--model-name is for a server"),
        (("capacity", "--endpoint", "http://127.0.0.1:9", "--engine", "transformers"), "--engine is for a MODEL"),
        (("capacity", "--endpoint", "http://127.0.0.1:9", "--model-name", "x"), "127.0.0.1:9"),
        (("profile", "demo", "--batch", "0"), "--batch is '0'"),
        (("report", "nowhere"), "holds no run"),
        (("serve", "nowhere"), "holds no run"),
        (("techniques", "onnx_int9"), "Did you mean 'onnx_int8'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_wrong_request_is_one_sentence_with_status_2(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    shown = paredown(*arguments, cwd=tmp_path)
    assert shown.returncode == 2, shown.stderr
    assert sentence in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_document_on_standard_output() -> None:
    shown = paredown("techniques", "--json")
    assert {"name", "rung", "trade_off"} <= set(json.loads(shown.stdout)[0])


def test_the_engines_say_whether_they_can_run_here() -> None:
    rows = json.loads(paredown("engines", "--json").stdout)
    assert next(row for row in rows if row["name"] == "fake")["runs_here"] == "yes"


def test_doctor_reports_and_changes_nothing(tmp_path: Path) -> None:
    shown = paredown("doctor", "--json", "--cache", str(tmp_path / "cache"))
    assert {"Python", "memory", "cache"} <= {finding["what"] for finding in json.loads(shown.stdout)}
    assert list(tmp_path.iterdir()) == []
