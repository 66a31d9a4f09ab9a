"""A task of lm-evaluation-harness, loaded by the library itself: the same prompts, log-probabilities and scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paredown import registry
from paredown.evaluate import answers, golden
from paredown.hosts import launch
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import Evaluation

lm_eval = pytest.importorskip("lm_eval", reason="the optional package lm_eval is not installed")
pytestmark = pytest.mark.real

TASK = """task: paredown_own
dataset_path: json
dataset_kwargs:
  data_files:
    test: {path}
test_split: test
output_type: multiple_choice
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: label
metric_list:
  - metric: acc
  - metric: acc_norm
"""
ITEMS = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task file and its documents, which are the built-in items of two slices."""
    folder = tmp_path_factory.mktemp("tasks")
    items = golden.load(["builtin:reasoning", "builtin:multilingual"]).items
    rows = [
        {"question": item.messages[-1].content, "choices": item.choices, "label": int(item.answer)}
        for item in items[:: len(items) // ITEMS]
        if item.choices
    ]
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "own.yaml").write_text(TASK.format(path=folder / "documents.jsonl"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def theirs(folder: Path, demo: Path) -> Any:
    from lm_eval.tasks import TaskManager

    return lm_eval.simple_evaluate(
        model="hf",
        model_args=f"pretrained={demo},dtype=float32",
        tasks=["paredown_own"],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        limit=ITEMS,
        batch_size=4,
        device="cpu",
        log_samples=True,
    )


def ours(folder: Path, metric: str, artifact: Artifact, work: Path) -> Evaluation:
    items = golden.load([f"lm_eval:paredown_own:include_path={folder},limit={ITEMS},metric={metric}"]).items
    engine = registry.engine("transformers")
    options = {"dtype": "float32", "threads": 1, "attention": "sdpa"}
    candidate = Candidate("baseline", Rung.BASELINE, engine.name, options, {"main": artifact})
    with launch.start(engine, candidate, work, timeout_s=300.0) as running:
        return answers.run(running, items, candidate="ours", split="all", level=engine.scoring)


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_log_probabilities_and_scores_are_those_of_the_library(
    folder: Path, theirs: Any, demo_artifact: Artifact, tmp_path: Path, metric: str
) -> None:
    made = ours(folder, metric, demo_artifact, tmp_path)
    samples = sorted(theirs["samples"]["paredown_own"], key=lambda one: one["doc_id"])
    for answer, sample in zip(made.answers, samples, strict=True):
        expected = [float(response[0]) for response in sample["filtered_resps"]]
        assert answer.choice_logprobs == pytest.approx(expected, abs=1e-3)
    assert [score.value for score in made.scores] == [float(sample[metric]) for sample in samples]


def test_examples_in_the_prompt_are_those_of_the_library(folder: Path) -> None:
    from lm_eval.tasks import TaskManager

    task = TaskManager(include_path=str(folder), include_defaults=False).load("paredown_own")["tasks"]["paredown_own"]
    task.set_config(key="num_fewshot", value=2)
    task.set_fewshot_seed(seed=1234)
    task.build_all_requests(limit=3, rank=0, world_size=1)
    expected = list(dict.fromkeys(request.args[0] for request in task.instances))
    items = golden.load([f"lm_eval:paredown_own:include_path={folder},limit=3,fewshot=2"]).items
    assert [item.messages[0].content for item in items] == [f"{context} " for context in expected]
