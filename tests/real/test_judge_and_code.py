"""A real model writes, and is its own judge over HTTP: it judges badly, but every reply reaches its score."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import ScoringLevel
from paredown.evaluate import answers, scoring
from paredown.evaluate.answers import BatchPolicy
from paredown.hosts import launch
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message

pytestmark = pytest.mark.real

ITEMS = (
    GoldenItem("river", "s", "judge", (Message("user", "Name a river in Europe."),), "The Danube.", max_tokens=8),
    GoldenItem("color", "s", "judge", (Message("user", "Name a color."),), "", max_tokens=4),
    GoldenItem(
        "add",
        "s",
        "code",
        (Message("user", "Write a Python function add(a, b) that adds two numbers. Answer with code only."),),
        "def add(a, b):\n    return a + b",
        max_tokens=48,
        arguments={"tests": "assert add(2, 3) == 5", "entry_point": "add"},
    ),
)


@pytest.mark.timeout(900)
def test_a_real_model_is_judged_by_a_real_judge_and_its_code_is_run(
    demo_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = registry.engine("transformers")
    options = {"dtype": "float32", "threads": 1, "attention": "sdpa"}
    candidate = Candidate("float32", Rung.BASELINE, engine.name, options, {"main": demo_artifact})
    with launch.start(engine, candidate, tmp_path, timeout_s=300) as running:
        monkeypatch.setenv("JUDGE_KEY", running.api_key)
        settings: scoring.Settings = {
            "judge": {
                "url": running.url,
                "model": running.model_name,
                "api_key_variable": "JUDGE_KEY",
                "max_tokens": 24,
                "timeout_s": 250.0,
            },
            "code": {"allow": "yes", "network": "allow", "files": "allow"},
        }
        made = answers.run(
            running,
            ITEMS,
            candidate="c",
            split="all",
            level=ScoringLevel.FULL,
            policy=BatchPolicy(),
            settings=settings,
        )
    scores = {score.item: score for score in made.scores}
    for name in ("river", "color"):
        assert scores[name].details["reply_1"]
        assert scores[name].value is not None or "verdict" in scores[name].why
    assert scores["add"].value in (0.0, 1.0)
