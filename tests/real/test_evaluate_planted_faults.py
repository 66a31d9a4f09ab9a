"""Planted faults on the built-in model: a broken block, a lost chat template, and an identical copy that must ship."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from paredown import registry
from paredown.decide import gates, slices
from paredown.evaluate import answers, fidelity, golden, smoke
from paredown.hosts import launch
from paredown.hosts.running import RunningEngine
from paredown.models import artifact as artifacts
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import Check, Evaluation, FidelityText, GoldenItem
from paredown.records.verdict import Margin, SliceVerdict, Verdict

pytestmark = pytest.mark.real

ENGINE = registry.engine("transformers")
# One thread: on a shared machine two of them wait for each other.
OPTIONS = {"dtype": "bfloat16", "threads": 1, "attention": "sdpa"}
POOLED = Margin("pooled", 0.03, gated=True, members=())
ITEMS = 110
UNCHANGED = Check("was optimized", passed=None, detail="not asked here")
MAX_MEAN_KL, MIN_TOP1 = 1.0, 0.5


@dataclass(frozen=True)
class Measured:
    """What the tests know of the unharmed model."""

    items: tuple[GoldenItem, ...]
    reference: smoke.Reference
    texts: tuple[FidelityText, ...]
    evaluation: Evaluation


@contextmanager
def started(artifact: Artifact, name: str, work: Path) -> Iterator[RunningEngine]:
    candidate = Candidate(name, Rung.BASELINE, ENGINE.name, OPTIONS, {"main": artifact})
    with launch.start(ENGINE, candidate, work, timeout_s=300) as running:
        yield running


def evaluate(running: RunningEngine, name: str, items: tuple[GoldenItem, ...]) -> Evaluation:
    return answers.run(running, items, candidate=name, split="screening", level=ENGINE.scoring)


def judge(measured: Measured, candidate: Evaluation) -> SliceVerdict:
    margin = dataclasses.replace(POOLED, members=tuple(sorted({item.slice for item in measured.items})))
    (verdict,) = slices.judge(
        measured.evaluation,
        candidate,
        measured.items,
        [margin],
        alpha=0.05,
        chance=lambda item: registry.scorer(item.scorer).chance(item),
    )
    return verdict


def short_items() -> tuple[GoldenItem, ...]:
    """Likelihood items of the built-in set that are quick to read, from every slice that has such."""
    quick = [
        dataclasses.replace(item, zero_tolerance=False)
        for item in golden.load(["builtin"]).items
        if registry.scorer(item.scorer).likelihood and sum(len(message.content) for message in item.messages) < 600
    ]
    return fidelity.choose_prompts(quick, ITEMS)


@pytest.fixture(scope="module")
def measured(demo_artifact: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    items = short_items()
    plain = [dataclasses.replace(text, tokens=48) for text in fidelity.plain_texts()[:4]]
    with started(demo_artifact, "baseline", tmp_path_factory.mktemp("baseline")) as running:
        return Measured(
            items,
            smoke.reference(running),
            fidelity.baseline_texts(running, items[:4], plain, max_tokens=16),
            evaluate(running, "baseline", items),
        )


def copied(source: Artifact, folder: Path, facts: ModelFacts, *, without: tuple[str, ...] = ()) -> Artifact:
    """The same model in another directory: weights linked, the rest copied, some files left out."""
    for file in source.path.iterdir():
        if file.name in without or not file.is_file():
            continue
        if file.suffix == ".safetensors":
            os.link(file, folder / file.name) if file.stat().st_dev == folder.stat().st_dev else shutil.copy(
                file, folder
            )
        else:
            shutil.copy(file, folder)
    return artifacts.describe(folder, format="hf", parameters=facts.parameters)


@pytest.fixture(scope="module")
def broken_block(demo_artifact: Artifact, demo_facts: ModelFacts, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """The weights of one block in the middle, all times 1.5."""
    from safetensors.torch import load_file, save_file

    folder = tmp_path_factory.mktemp("broken-block")
    copied(demo_artifact, folder, demo_facts)
    weights = load_file(folder / "model.safetensors")
    block = [name for name in weights if ".layers.15." in name]
    assert len(block) == 9
    for name in block:
        weights[name] = weights[name] * 1.5
    (folder / "model.safetensors").unlink()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return artifacts.describe(folder, format="hf", parameters=demo_facts.parameters)


@pytest.fixture(scope="module")
def lost_template(
    demo_artifact: Artifact, demo_facts: ModelFacts, tmp_path_factory: pytest.TempPathFactory
) -> Artifact:
    folder = tmp_path_factory.mktemp("lost-template")
    made = copied(demo_artifact, folder, demo_facts, without=("chat_template.jinja",))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({k: v for k, v in config.items() if k != "chat_template"}))
    return made


def test_an_identical_copy_passes_every_gate_and_ships(
    measured: Measured, demo_artifact: Artifact, demo_facts: ModelFacts, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    copy = copied(demo_artifact, folder, demo_facts)
    with started(copy, "copy", tmp_path / "work") as running:
        looked = smoke.check(
            running,
            measured.reference,
            candidate="copy",
            changed=UNCHANGED,
            reloaded=measured.reference.answers,
            concurrency=len(smoke.PROMPTS),
        )
        compared = fidelity.compare(running, measured.texts, candidate="copy", level=ENGINE.scoring)
        evaluation = evaluate(running, "copy", measured.items)
    assert looked.passed, looked.checks
    assert gates.fidelity(compared, MAX_MEAN_KL, MIN_TOP1).passed
    assert compared.mean_kl == pytest.approx(0.0, abs=1e-3)
    verdict = judge(measured, evaluation)
    assert verdict.verdict is Verdict.SHIP, verdict.reason
    assert verdict.counts.n == ITEMS


def test_a_block_times_one_and_a_half_is_rejected_by_fidelity_and_by_the_golden_set(
    measured: Measured, broken_block: Artifact, tmp_path: Path
) -> None:
    with started(broken_block, "broken", tmp_path) as running:
        compared = fidelity.compare(running, measured.texts, candidate="broken", level=ENGINE.scoring)
        evaluation = evaluate(running, "broken", measured.items)
    assert gates.fidelity(compared, MAX_MEAN_KL, MIN_TOP1).passed is False
    verdict = judge(measured, evaluation)
    assert verdict.verdict is Verdict.REJECT, verdict.reason


def test_a_lost_chat_template_is_caught_by_the_smoke_gate_and_named(
    measured: Measured, lost_template: Artifact, tmp_path: Path
) -> None:
    with started(lost_template, "lost", tmp_path) as running:
        looked = smoke.check(
            running, measured.reference, candidate="lost", changed=UNCHANGED, reloaded="not asked here"
        )
    failed = {check.name: check.detail for check in looked.checks if check.passed is False}
    assert "The chat template was lost" in failed["chat template"]
