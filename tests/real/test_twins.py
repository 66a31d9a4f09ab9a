"""Likelihood twins on the built-in model: above chance where it can hardly write, and lower when it is damaged."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from paredown import registry
from paredown.evaluate import answers, golden, twins
from paredown.hosts import launch
from paredown.models import artifact as artifacts
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import Answer, Evaluation, GoldenItem, Score
from paredown.stats import chance as guessing

pytestmark = pytest.mark.real

ENGINE = registry.engine("transformers")
OPTIONS = {"dtype": "bfloat16", "threads": 1, "attention": "sdpa"}
ASKED = 'Answer with one call as JSON such as {"name": "the tool", "arguments": {"its argument": "value"}}.'
TOOLS = {
    "book_table": {"restaurant": "string", "people": "integer"},
    "send_parcel": {"address": "string", "weight_kg": "number"},
    "set_heating": {"room": "string", "degrees": "integer"},
}
PROMPTS = (
    ("A table for 4 at Bella Vista, please.", "book_table", {"restaurant": "Bella Vista", "people": 4}),
    ("Book the Golden Lion for 7 people.", "book_table", {"restaurant": "Golden Lion", "people": 7}),
    ("We are 3 and want to eat at Casa Rosa.", "book_table", {"restaurant": "Casa Rosa", "people": 3}),
    ("Send 2.5 kg to Mill Lane 8.", "send_parcel", {"address": "Mill Lane 8", "weight_kg": 2.5}),
    ("A parcel of 4.2 kg must go to Park Road 31.", "send_parcel", {"address": "Park Road 31", "weight_kg": 4.2}),
    ("Ship this to Hill Street 5, it weighs 1.1 kg.", "send_parcel", {"address": "Hill Street 5", "weight_kg": 1.1}),
    ("Make the kitchen 21 degrees warm.", "set_heating", {"room": "kitchen", "degrees": 21}),
    ("Heat the bathroom to 24 degrees.", "set_heating", {"room": "bathroom", "degrees": 24}),
    ("The office should have 19 degrees.", "set_heating", {"room": "office", "degrees": 19}),
)


def written_items(folder: Path) -> tuple[GoldenItem, ...]:
    listed = "\n".join(
        json.dumps({"name": name, "parameters": {"properties": {key: {"type": kind} for key, kind in of.items()}}})
        for name, of in TOOLS.items()
    )
    rows = [
        {"prompt": prompt, "system": f"{ASKED}\n{listed}", "scorer": "tool_call", "slice": "tools"}
        | {"answer": {"name": name, "arguments": arguments}}
        for prompt, name, arguments in PROMPTS
    ]
    (folder / "calls.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return golden.load([str(folder / "calls.jsonl"), "needle:lengths=256,depths=0+50+100,per_cell=3"]).items


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[GoldenItem, ...]:
    items = written_items(tmp_path_factory.mktemp("items"))
    wrong = tuple(Score(item.id, 0.0) for item in items)
    nothing = Evaluation("c", "s", {}, tuple(Answer(item.id) for item in items), wrong, 0, 0, 0.0)
    decided = twins.decide(items, nothing)
    return twins.replaced(items, decided)


def evaluate(artifact: Artifact, items: tuple[GoldenItem, ...], work: Path) -> Evaluation:
    candidate = Candidate("c", Rung.BASELINE, ENGINE.name, OPTIONS, {"main": artifact})
    with launch.start(ENGINE, candidate, work, timeout_s=300) as running:
        return answers.run(running, items, candidate="c", split="s", level=ENGINE.scoring)


def share(evaluation: Evaluation, items: tuple[GoldenItem, ...], name: str) -> float:
    values = [s.value for s, item in zip(evaluation.scores, items, strict=True) if item.slice == name]
    assert None not in values
    return sum(value or 0.0 for value in values) / len(values)


@pytest.fixture(scope="module")
def healthy(demo_artifact: Artifact, asked: tuple[GoldenItem, ...], tmp_path_factory: pytest.TempPathFactory):
    return evaluate(demo_artifact, asked, tmp_path_factory.mktemp("healthy"))


@pytest.mark.parametrize("name", ["tools", "long_context"])
def test_twins_of_tool_calls_and_needles_are_above_chance(healthy: Evaluation, asked, name: str) -> None:
    members = [item for item in asked if item.slice == name]
    right = round(share(healthy, asked, name) * len(members))
    assert guessing.p_above_chance(right, [1 / len(item.choices) for item in members]) < 0.02


def test_they_fall_with_one_damaged_block(
    healthy: Evaluation, asked, demo_artifact: Artifact, demo_facts: ModelFacts, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "damaged"
    folder.mkdir()
    for file in demo_artifact.path.iterdir():
        if file.is_file() and file.suffix != ".safetensors":
            shutil.copy(file, folder / file.name)
    weights = load_file(demo_artifact.path / "model.safetensors")
    changed = {name: value * 1.5 if ".layers.15." in name else value for name, value in weights.items()}
    save_file(changed, os.fspath(folder / "model.safetensors"), metadata={"format": "pt"})
    damaged = evaluate(artifacts.describe(folder, format="hf", parameters=demo_facts.parameters), asked, tmp_path)
    for name in ("tools", "long_context"):
        assert share(damaged, asked, name) <= share(healthy, asked, name) - 0.3
