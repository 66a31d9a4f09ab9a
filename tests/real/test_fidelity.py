"""Fidelity of real models: equal to plain transformers code, and a fault far into the context is found there.

llama.cpp's `perplexity --kl-divergence` measures the same figures from whole distributions; the peer here is the
definition itself, on models loaded without any of paredown's engines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paredown import registry
from paredown.decide import gates
from paredown.evaluate import fidelity
from paredown.hosts import launch
from paredown.hosts.running import RunningEngine
from paredown.models import artifact as artifacts
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import Fidelity, FidelityText

pytestmark = pytest.mark.real

ENGINE = registry.engine("transformers")
VOCABULARY = 49152


@contextmanager
def started(artifact: Artifact, work: Path, dtype: str = "float32") -> Iterator[RunningEngine]:
    options = {"dtype": dtype, "threads": 1, "attention": "sdpa"}
    candidate = Candidate("c", Rung.BASELINE, ENGINE.name, options, {"main": artifact})
    with launch.start(ENGINE, candidate, work, timeout_s=300) as running:
        yield running


def copied(source: Artifact, folder: Path, facts: ModelFacts, *, scaled: str = "", **config: Any) -> Artifact:
    """The model in another directory, with other values in its configuration or weights of one block times 1.2."""
    for file in source.path.iterdir():
        if file.suffix != ".safetensors" and file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
        elif file.suffix == ".safetensors" and not scaled:
            (folder / file.name).symlink_to(file)
    changed = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps(changed))
    if scaled:
        from safetensors.torch import load_file, save_file

        weights = load_file(source.path / "model.safetensors")
        weights.update({name: weights[name] * 1.2 for name in weights if scaled in name})
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return artifacts.describe(folder, format="hf", parameters=facts.parameters)


@dataclass(frozen=True)
class Measured:
    """The same two models compared with the whole vocabulary, and with 32 ids and the truncation estimate."""

    whole: Fidelity
    bounded: Fidelity
    texts: tuple[FidelityText, ...]
    bounded_texts: tuple[FidelityText, ...]
    damaged: Artifact


@pytest.fixture(scope="module")
def measured(demo_artifact: Artifact, demo_facts: ModelFacts, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    plain = [text for text in fidelity.plain_texts() if text.id in ("english-story", "russian")]
    damaged = copied(demo_artifact, tmp_path_factory.mktemp("damaged"), demo_facts, scaled=".layers.15.")
    with started(demo_artifact, tmp_path_factory.mktemp("baseline")) as running:
        texts = fidelity.baseline_texts(
            running, [], [replace(text, tokens=6) for text in plain], top_k=VOCABULARY, complete=nothing_asked
        )
        bounded = fidelity.baseline_texts(
            running, [], [replace(text, tokens=12) for text in plain], top_k=32, complete=nothing_asked
        )
    with started(damaged, tmp_path_factory.mktemp("candidate")) as running:
        return Measured(
            fidelity.compare(running, [t for t in texts if not t.truncation], candidate="c", level=ENGINE.scoring),
            fidelity.compare(running, bounded, candidate="c", level=ENGINE.scoring),
            tuple(text for text in texts if not text.truncation),
            bounded,
            damaged,
        )


def nothing_asked(*_: Any, **__: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Exact:
    """Log-probabilities of two models at the positions of one text, float64 [positions, vocabulary]."""

    baseline: np.ndarray[Any, Any]
    candidate: np.ndarray[Any, Any]
    tokens: np.ndarray[Any, Any]

    @property
    def kl(self) -> np.ndarray[Any, Any]:
        return np.asarray((np.exp(self.baseline) * (self.baseline - self.candidate)).sum(axis=-1))


def exact(demo: Path, damaged: Path, texts: tuple[FidelityText, ...]) -> list[Exact]:
    """By plain transformers: one text a pass, no cache, no packing."""
    import torch
    import transformers

    found: dict[Path, list[np.ndarray[Any, Any]]] = {}
    for path in (demo, damaged):
        model = transformers.AutoModelForCausalLM.from_pretrained(str(path), dtype=torch.float32).eval()
        with torch.inference_mode():
            for text in texts:
                logits = model(torch.tensor([text.token_ids]), use_cache=False).logits[0, text.start - 1 : -1]
                found.setdefault(path, []).append(torch.log_softmax(logits.double(), dim=-1).numpy())
    return [
        Exact(before, after, np.array(text.token_ids[text.start :]))
        for before, after, text in zip(found[demo], found[damaged], texts, strict=True)
    ]


def test_divergence_and_perplexity_are_those_of_plain_transformers_code(measured: Measured, demo: Path) -> None:
    peers = exact(demo, measured.damaged.path, measured.texts)
    forward = np.concatenate([peer.kl for peer in peers])
    reverse = np.concatenate([(np.exp(p.candidate) * (p.candidate - p.baseline)).sum(axis=-1) for p in peers])
    places = [np.arange(len(peer.tokens)) for peer in peers]
    change = np.concatenate(
        [
            peer.candidate[at, peer.tokens] - peer.baseline[at, peer.tokens]
            for at, peer in zip(places, peers, strict=True)
        ]
    )
    same = np.concatenate([peer.candidate.argmax(-1) == peer.baseline.argmax(-1) for peer in peers])
    found = measured.whole
    assert forward.mean() > 0.01
    assert [value for text in found.texts for value in text.kl] == pytest.approx(forward.tolist(), rel=0.01, abs=1e-3)
    assert found.mean_kl == pytest.approx(forward.mean(), rel=0.01)
    assert found.mean_reverse_kl == pytest.approx(reverse.mean(), rel=0.01)
    assert found.log_perplexity_difference == pytest.approx(-change.mean(), abs=1e-3)
    assert found.top1_agreement == pytest.approx(same.mean())


def test_what_32_ids_miss_is_estimated_and_never_more_than_the_truth(measured: Measured, demo: Path) -> None:
    wide = tuple(text for text in measured.bounded_texts if text.truncation)
    peers = exact(demo, measured.damaged.path, wide)
    estimate = measured.bounded.truncation
    assert estimate is not None
    bounds = [bound_of(peer, place, 32) for peer in peers for place in range(len(peer.tokens))]
    truth = float(np.concatenate([peer.kl for peer in peers]).mean() - np.mean(bounds))
    assert truth > 0.0
    assert 0.5 * truth <= estimate.missed <= truth * 1.01 + 1e-5


def bound_of(peer: Exact, place: int, k: int) -> float:
    """The textbook sum over k ids and one outcome for the rest."""
    p, q = peer.baseline[place], peer.candidate[place]
    ids = np.argsort(-p)[:k]
    inside = float((np.exp(p[ids]) * (p[ids] - q[ids])).sum())
    p_rest, q_rest = (1.0 - float(np.exp(row[ids]).sum()) for row in (p, q))
    return inside + p_rest * float(np.log(p_rest / q_rest))


def test_a_wrong_rotary_base_is_found_far_into_the_context_and_only_there(
    demo_artifact: Artifact, demo_facts: ModelFacts, tmp_path: Path
) -> None:
    """A base of 10,000 in place of 100,000 hardly shows in the first hundred positions."""
    folder, work = tmp_path / "rotary", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    base = {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}}
    wrong = copied(demo_artifact, folder, demo_facts, **base)
    with started(demo_artifact, work, "bfloat16") as running:
        texts = fidelity.baseline_texts(
            running, [], fidelity.plain_texts(tokens=48), furthest=2048, complete=nothing_asked
        )
        healthy = fidelity.compare(running, texts, candidate="same", level=ENGINE.scoring)
    with started(wrong, work, "bfloat16") as running:
        found = fidelity.compare(running, texts, candidate="wrong", level=ENGINE.scoring)
    check = gates.fidelity(found, 1.0, 0.5)
    assert check.passed is False, check
    assert "at positions 2,048–4,095" in check.detail
    assert "plain" not in check.detail
    fine = gates.fidelity(healthy, 1.0, 0.5)
    assert (fine.passed, fine.warns) == (True, False)
