"""A golden set from a log with the built-in model: its frozen answers are what it finds likely itself."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from paredown import registry
from paredown.evaluate import answers, golden
from paredown.flow.golden_from_logs import GoldenAsked, build
from paredown.flow.progress import Silent
from paredown.flow.subject import ModelAsked
from paredown.hosts import launch
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung

pytestmark = pytest.mark.real

LINES = (
    {"messages": [{"role": "user", "content": "What is the capital of France? Write to ann@example.org."}]},
    {"request": {"messages": [{"role": "user", "content": "Name two colors of the rainbow."}], "max_tokens": 6}},
)


def test_frozen_answers_are_far_likelier_than_other_texts(cache: Path, demo_artifact: Artifact, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    out = tmp_path / "golden.jsonl"
    made = build(GoldenAsked((str(log),), ModelAsked("demo"), out, answer_tokens=8), cache, Silent())
    assert sum(made.answers.values()) == 2
    assert made.masked == {"EMAIL": 1}
    items = golden.load([str(out)]).items
    others = [
        dataclasses.replace(item, id=f"{item.id}-other", choices=("Purple wagons seldom vote.",)) for item in items
    ]
    engine = registry.engine("transformers")
    options = {"dtype": "bfloat16", "threads": 1, "attention": "sdpa"}
    candidate = Candidate("baseline", Rung.BASELINE, engine.name, options, {"main": demo_artifact})
    with launch.start(engine, candidate, tmp_path / "work", timeout_s=300.0) as running:
        found = answers.run(running, [*items, *others], candidate="b", split="all", level=engine.scoring)
    values = [score.value or 0.0 for score in found.scores]
    assert min(values[:2]) > 0.3
    assert max(values[2:]) < 0.05
