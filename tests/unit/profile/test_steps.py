"""Steps of the fake engine, timed in a worker process; what could not be measured says why."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paredown.contracts import Engine
from paredown.environments import worker
from paredown.errors import EngineDied, EngineError, EngineHung, EngineOutOfMemory
from paredown.profile import steps
from paredown.profile.driving import Effort, Timed
from paredown.profile.worker_steps import StepsWork
from paredown.records.artifact import ModelFacts
from paredown.records.candidate import Candidate

EFFORT = Effort(prefill_rounds=2, batch_rounds=1, steps=3, warm_up_steps=1)


def work_of(engine: Engine, made: tuple[Candidate, ModelFacts], results: Path, batches: tuple[int, ...]) -> StepsWork:
    candidate, facts = made
    return steps.work_of(
        engine, candidate, facts, device="cpu", batches=batches, prompt_tokens=(20, 10),
        results=results, effort=EFFORT,
    )  # fmt: skip


def measure(engine: Engine, work: StepsWork, directory: Path) -> steps.Found:
    return steps.measure(work, engine, directory, python=Path(sys.executable), on_progress=lambda fraction, what: None)


def test_prompts_and_batches_are_timed_in_a_process_of_its_own(fake_engine, make_candidate, tmp_path: Path) -> None:
    found = measure(fake_engine, work_of(fake_engine, make_candidate(), tmp_path / "r", (3, 1)), tmp_path)
    shape = [(t.phase, t.batch, t.tokens, len(t.times_ns)) for t in found.timed]

    assert shape == [
        ("prefill", 1, 10, 2), ("prefill", 1, 20, 2), ("decode", 1, 13, 3), ("prefill", 3, 10, 1), ("decode", 3, 13, 3),
    ]  # fmt: skip
    assert found.left_out == {}
    # The script sleeps: 0.1 ms for a prompt token and 2 ms for a step, at least.
    assert min(found.timed[1].times_ns) >= 4_000_000
    assert min(found.timed[2].times_ns) >= 2_000_000
    assert found.timed[2].kv_bytes_per_token == 256


def test_batches_beyond_the_engine_are_left_out_and_not_tried(fake_engine, make_candidate, tmp_path: Path) -> None:
    narrow = replace(fake_engine, max_batch=1)
    found = measure(narrow, work_of(narrow, make_candidate(), tmp_path / "r", (1, 4)), tmp_path)

    assert found.left_out == {"batch 4": "fake computes one request at a time"}
    assert {t.batch for t in found.timed} == {1}


def test_a_batch_that_fails_leaves_the_smaller_ones_and_stops_the_larger(
    fake_engine, make_candidate, tmp_path: Path
) -> None:
    made = make_candidate(one_at_a_time=True)
    found = measure(fake_engine, work_of(fake_engine, made, tmp_path / "r", (1, 2, 4)), tmp_path)

    assert {t.batch for t in found.timed} == {1}
    assert "still waited" in found.left_out["batch 2"]
    assert found.left_out["batch 4"].startswith("not tried, because batch 2 failed")


def test_what_does_not_fit_the_context_is_left_out(fake_engine, make_candidate, tmp_path: Path) -> None:
    made = make_candidate(context_length=18)
    found = measure(fake_engine, work_of(fake_engine, made, tmp_path / "r", (1, 8)), tmp_path)

    assert found.left_out == {
        "prefill of 20 tokens": "it needs 21 positions, and the model's context has 18",
        "batch 8": "it needs 23 positions, and the model's context has 18",
    }
    assert [(t.phase, t.tokens) for t in found.timed] == [("prefill", 10), ("decode", 13)]


def test_an_error_of_the_engine_is_the_reason(fake_engine, make_candidate, tmp_path: Path) -> None:
    made = make_candidate(fail_after_tokens=9)
    found = measure(fake_engine, work_of(fake_engine, made, tmp_path / "r", (1, 2)), tmp_path)

    assert found.left_out["batch 1"] == "RuntimeError: the script says that this step fails"
    assert {t.phase for t in found.timed} == {"prefill"}


def test_a_process_that_is_killed_leaves_what_it_had_measured(fake_engine, make_candidate, tmp_path: Path) -> None:
    made = make_candidate(die_after_tokens=20)
    found = measure(fake_engine, work_of(fake_engine, made, tmp_path / "r", (1, 16)), tmp_path)

    assert [t.phase for t in found.timed] == ["prefill", "prefill", "decode"]
    assert found.left_out == {"further steps": "the engine's process was killed by SIGKILL"}


def test_an_engine_that_cannot_be_opened_is_an_error(fake_engine, make_candidate, tmp_path: Path) -> None:
    made = make_candidate(fail_on_load="the weights are torn")

    with pytest.raises(EngineError, match=r"fake could not be profiled: its process reported: .*the weights are torn"):
        measure(fake_engine, work_of(fake_engine, made, tmp_path / "r", (1,)), tmp_path)


@pytest.mark.parametrize(
    ("kind", "error"), [("memory", EngineOutOfMemory), ("timeout", EngineHung), ("killed", EngineDied)]
)
def test_failures_have_the_class_of_the_engine_errors(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, error: type[EngineError]
) -> None:
    def fail(*arguments: object, **more: object) -> None:
        raise worker.WorkerFailed(kind, "was stopped", "its last lines")

    monkeypatch.setattr(worker, "run", fail)
    with pytest.raises(error) as caught:
        measure(fake_engine, work_of(fake_engine, make_candidate(), tmp_path / "r", (1,)), tmp_path)
    assert caught.value.detail == "its last lines"


def test_results_of_an_earlier_run_do_not_count(fake_engine, make_candidate, tmp_path: Path) -> None:
    stale = json.dumps({"timed": {"phase": "decode", "batch": 99, "tokens": 1, "times_ns": [1]}})
    (tmp_path / "r").write_text(stale + "\n")
    found = measure(fake_engine, work_of(fake_engine, make_candidate(), tmp_path / "r", (1,)), tmp_path)

    assert {t.batch for t in found.timed} == {1}


def test_a_last_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    whole = json.dumps({"timed": {"phase": "decode", "batch": 2, "tokens": 1, "times_ns": [1]}})
    (tmp_path / "r").write_text(whole + "\n" + whole[:20])

    found = steps.read(tmp_path / "r")

    assert ([t.batch for t in found.timed], list(found.left_out)) == ([2], ["further steps"])


def test_a_model_without_a_known_vocabulary_is_refused(fake_engine, make_candidate, tmp_path: Path) -> None:
    candidate, facts = make_candidate()

    with pytest.raises(EngineError, match="does not say vocab_size"):
        work_of(fake_engine, (candidate, replace(facts, vocabulary=0)), tmp_path, (1,))


def test_a_step_is_the_median_with_its_quartiles() -> None:
    step = steps.step_of(Timed("decode", 2, 30, (5_000_000, 1_000_000, 2_000_000, 3_000_000, 4_000_000)))

    assert (step.phase, step.batch, step.tokens, step.samples) == ("decode", 2, 30, 5)
    assert (step.low_s, step.measured_s, step.high_s) == (0.002, 0.003, 0.004)


def test_one_sample_is_its_own_spread() -> None:
    step = steps.step_of(Timed("prefill", 8, 30, (5_000_000,)))

    assert (step.samples, step.low_s, step.measured_s, step.high_s) == (1, 0.005, 0.005, 0.005)
