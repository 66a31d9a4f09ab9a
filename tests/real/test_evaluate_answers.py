"""Answers and fidelity on the reference engine: the short ways give the numbers of the long ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from paredown import registry
from paredown.contracts import ScoringLevel
from paredown.evaluate import answers, fidelity
from paredown.evaluate.answers import BatchPolicy
from paredown.hosts import launch
from paredown.hosts.running import RunningEngine
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message

pytestmark = pytest.mark.real

CITIES = {"France": "Paris", "Italy": "Rome", "Japan": "Tokyo", "Egypt": "Cairo", "Norway": "Oslo", "Peru": "Lima"}


@pytest.fixture(scope="module")
def running(demo_artifact: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    """In 32 bits, where the order of additions moves the fifth digit and not the second; one thread, see the faults."""
    engine = registry.engine("transformers")
    options = {"dtype": "float32", "threads": 1, "attention": "sdpa"}
    candidate = Candidate("float32", Rung.BASELINE, engine.name, options, {"main": demo_artifact})
    with launch.start(engine, candidate, tmp_path_factory.mktemp("work"), timeout_s=300) as started:
        yield started


def items(*, suffix: str = "") -> list[GoldenItem]:
    """Capitals to choose from; with a suffix every choice has several tokens."""
    choices = tuple(city + suffix for city in CITIES.values())
    return [
        GoldenItem(
            country,
            "s",
            "likelihood",
            (Message("user", f"What is the capital of {country}?"),),
            str(n),
            choices=choices,
        )
        for n, country in enumerate(CITIES)
    ]


def run(running: RunningEngine, asked: list[GoldenItem], level: ScoringLevel, policy: BatchPolicy) -> list[list[float]]:
    found = answers.run(running, asked, candidate="c", split="screening", level=level, policy=policy)
    assert all(answer.failure == "" for answer in found.answers)
    return [list(answer.choice_logprobs) for answer in found.answers]


@pytest.mark.parametrize("suffix", ["", " is the capital"])
def test_sharing_batching_and_order_change_no_log_probability(running: RunningEngine, suffix: str) -> None:
    asked = items(suffix=suffix)
    together = run(running, asked, ScoringLevel.FULL, BatchPolicy())
    apart = run(running, asked, ScoringLevel.TARGET_ONLY, BatchPolicy(batch_items=1, reverse=True))
    for one, other in zip(together, apart, strict=True):
        assert one == pytest.approx(other, abs=2e-3)


def test_shared_prefixes_are_computed_once(running: RunningEngine) -> None:
    asked = items(suffix=" is the capital")
    found = answers.run(running, asked, candidate="c", split="screening", level=ScoringLevel.FULL)
    with running.scoring() as client:
        prompts = [len(ids) for ids in client.encode([item.messages for item in asked])]
        choices = [len(ids) for ids in client.encode_texts(asked[0].choices)]
    # The prompts share their system message, and a choice's last token need not be read.
    assert found.prefill_tokens < sum(prompts) + len(asked) * sum(choices)


def test_a_small_model_knows_its_capitals_and_writes_them(running: RunningEngine) -> None:
    written = [
        replace(item, id=f"w-{item.id}", scorer="exact_match", choices=(), answer=CITIES[item.id], max_tokens=16)
        for item in items()
    ]
    contains = [replace(item, arguments={"mode": "contains"}) for item in written]
    found = answers.run(running, [*items(), *contains], candidate="c", split="screening", level=ScoringLevel.FULL)
    chosen, spoken = found.scores[: len(CITIES)], found.scores[len(CITIES) :]
    assert sum(score.value or 0.0 for score in chosen) >= 5
    assert sum(score.value or 0.0 for score in spoken) >= 4
    assert all(answer.text for answer in found.answers[len(CITIES) :])


def test_what_is_scored_is_what_is_served(running: RunningEngine) -> None:
    texts = fidelity.baseline_texts(running, items(), [], max_tokens=16, top_k=2)
    pairs = [
        (token, ids[0], values[0] - values[1])
        for text in texts
        for token, ids, values in zip(text.token_ids[text.start :], text.top_ids, text.top_logprobs, strict=True)
    ]
    clear = [(served, scored) for served, scored, gap in pairs if gap > 1e-3]
    assert len(clear) >= 40
    assert sum(served == scored for served, scored in clear) >= 0.99 * len(clear)
