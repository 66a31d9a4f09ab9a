"""Latency against the length of the prompt, on the fake engine in a real host process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from paredown import registry
from paredown.errors import EngineDied, UserError
from paredown.hosts import launch, tokenizer
from paredown.hosts.running import RunningEngine
from paredown.machine import describe
from paredown.measure import context_axis
from paredown.measure.context_axis import ContextSettings, expected_seconds, lengths_up_to
from paredown.measure.running import Running, Start
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.testing import fake_models
from paredown.testing.elsewhere import Elsewhere
from paredown.testing.fake_language import FakeScript, Faults, Speeds
from paredown.testing.scripted_server import answer, serving_in_thread

WINDOW = 2048
SLOW = FakeScript(speeds=Speeds(prefill_ns_per_token=20_000, decode_ns_per_step=1_000_000))


def starter(path: Path, work: Path) -> Start:
    engine = registry.engine("fake")
    artifact = Artifact(path, "fake", "d", 1, 1, 1)
    candidate = Candidate("fake", Rung.BASELINE, "fake", engine.resolve(artifact, describe(), {}), {"main": artifact})

    def start() -> AbstractContextManager[RunningEngine]:
        return launch.start(engine, candidate, work, timeout_s=60)

    return start


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_models.make(tmp_path_factory.mktemp("axis") / "m", SLOW, context_length=WINDOW)


@pytest.fixture(scope="module")
def kept(model: Path) -> Iterator[Start]:
    """One host process for all tests that do not end it."""
    with starter(model, model.parent / "work")() as running:

        @contextmanager
        def start() -> Iterator[Running]:
            yield running

        yield start


def test_ttft_grows_with_the_prompt_up_to_a_full_context(model: Path, kept: Start) -> None:
    told: list[str] = []
    settings = ContextSettings(output_tokens=8, repeats=2)
    curve = context_axis.run(
        kept, tokenizer.load(model), settings, lambda done, doing: told.append(f"{done:.2f} {doing}")
    )

    assert [point.x for point in curve.points] == [128, 512, 2040]
    first = [point.figure("ttft_p50") for point in curve.points]
    values = [figure.value for figure in first if figure is not None and figure.value is not None]
    assert len(values) == 3
    assert values[0] < values[1] < values[2]
    assert values[2] >= 2040 * 20e-6
    speed = curve.points[2].figure("prefill_speed")
    assert speed is not None
    assert speed.value is not None
    assert speed.value <= 1 / 20e-6
    assert [point.failures for point in curve.points] == [{}, {}, {}]
    assert curve.points[2].outcome == "prompt and answer fill the context of 2,048 tokens"
    assert "2 prompts of each length" in curve.notes[0]
    assert told[0] == "0.00 prompt of 128 tokens"
    assert [line.split()[-2] for line in told] == ["128", "512", "2,040", "2,040", "512", "128"]


def test_a_machine_too_slow_for_a_length_stops_before_it_and_says_so(model: Path, kept: Start) -> None:
    seconds = itertools.count(step=10)  # every look at the clock is ten seconds later
    curve = context_axis.run(
        kept,
        tokenizer.load(model),
        ContextSettings(lengths=(128, 256, 512), output_tokens=2, repeats=1, budget_s=45),
        now_ns=lambda: next(seconds) * 10**9,
    )

    assert [point.x for point in curve.points] == [128]
    assert "256 tokens would take about 20 s" in curve.notes[-1]
    assert "512 left out with it" in curve.notes[-1]


def test_an_engine_that_dies_of_a_length_is_an_outcome_of_that_length(tmp_path: Path) -> None:
    # Warm-up takes 8 tokens and each prompt 4: the second length kills it, and the process after it lives.
    path = fake_models.make(tmp_path / "m", FakeScript(faults=Faults(die_after_tokens=13)), context_length=WINDOW)
    settings = ContextSettings(lengths=(128, 256, 512), output_tokens=4, repeats=2)
    curve = context_axis.run(starter(path, tmp_path / "work"), tokenizer.load(path), settings)

    assert [point.x for point in curve.points] == [128, 256]
    assert (curve.points[0].failures, curve.points[0].outcome) == ({}, "")
    assert curve.points[1].failures == {"engine_failed": 1}
    assert "the engine failed" in curve.points[1].outcome
    assert "512 left out with it" in curve.notes[-1]


def test_an_engine_that_cannot_do_the_shortest_length_is_an_error(tmp_path: Path) -> None:
    path = fake_models.make(tmp_path / "m", FakeScript(faults=Faults(die_after_tokens=9)), context_length=WINDOW)
    settings = ContextSettings(lengths=(128, 256), output_tokens=4, repeats=1)
    with pytest.raises(EngineDied):
        context_axis.run(starter(path, tmp_path / "work"), tokenizer.load(path), settings)


def test_a_length_beyond_the_context_is_refused_with_the_longest_one(model: Path, kept: Start) -> None:
    with pytest.raises(UserError, match=r"2,041 tokens.*at most 2,040"):
        context_axis.run(kept, tokenizer.load(model), ContextSettings(lengths=(128, 2041), output_tokens=8))


def test_a_server_that_counts_other_lengths_is_reported(model: Path) -> None:
    with serving_in_thread(lambda _: answer([1, 2], prompt_tokens=500)) as server:
        settings = ContextSettings(lengths=(128,), output_tokens=2, repeats=1)
        curve = context_axis.run(Elsewhere(server.url), tokenizer.load(model), settings)

    assert curve.points[0].outcome == "the server counts 500 prompt tokens"


@pytest.mark.parametrize(
    ("window", "lengths"),
    [
        (8192, (128, 512, 2048, 8160)),
        (9000, (128, 512, 2048, 8968)),
        (2100, (128, 512, 2068)),
        (None, (128, 512, 2048, 8192)),
        (150, (118,)),
    ],
)
def test_lengths_go_up_by_four_to_the_window_less_the_answer(window: int | None, lengths: tuple[int, ...]) -> None:
    assert lengths_up_to(window, 32, 20) == lengths


def test_time_is_expected_to_go_on_growing_as_it_did() -> None:
    assert expected_seconds({}, 100) is None
    assert expected_seconds({100: 2.0}, 400) == 8.0
    assert expected_seconds({100: 1.0, 200: 4.0}, 400) == pytest.approx(16.0)
    assert expected_seconds({100: 1.0, 200: 1.0}, 400) == 2.0
    assert expected_seconds({100: 1.0, 200: 100.0}, 400) == 400.0
