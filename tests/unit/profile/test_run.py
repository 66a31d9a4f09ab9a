"""A whole profile of the fake engine: placements by the better ceilings, what was left out, the sentence."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paredown.contracts import Engine, ServedBy
from paredown.profile import ceilings, run
from paredown.profile.driving import Effort, Timed
from paredown.records.artifact import ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate
from paredown.records.measurement import Profile
from paredown.testing.scripted_events import block, request, trial

EFFORT = Effort(prefill_rounds=2, batch_rounds=1, steps=3, warm_up_steps=1)
BEFORE = Ceilings((Bandwidth(1 << 10, 1e12),), (MatrixRate("float32", 1e12),))
AFTER = Ceilings((Bandwidth(1 << 10, 3e12),), (MatrixRate("float32", 0.5e12),))


def profile(
    engine: Engine, made: tuple[Candidate, ModelFacts], out: Path, monkeypatch: pytest.MonkeyPatch, **more: object
) -> Profile:
    monkeypatch.setattr(ceilings, "measure", lambda: AFTER)
    candidate, facts = made
    settings = {
        "python": Path(sys.executable), "device": "cpu", "out": out, "batches": (1, 2, 64), "prompt_tokens": (10,),
        "on_progress": lambda fraction, what: None, "effort": EFFORT,
    }  # fmt: skip
    return run.profile(engine, candidate, facts, BEFORE, **(settings | more))


def test_steps_are_placed_and_what_cannot_be_done_is_said(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = profile(fake_engine, make_candidate(), tmp_path / "out", monkeypatch)

    assert [(p.phase, p.batch) for p in found.placements] == [
        ("prefill", 1), ("decode", 1), ("prefill", 2), ("decode", 2),
    ]  # fmt: skip
    assert all(p.floor_s <= p.measured_s for p in found.placements)
    assert found.left_out["batch 64"] == "fake computes at most 32 requests together"
    assert {"operators", "nsys", "ncu"} <= set(found.left_out)
    assert "Decode at batch 1 is overhead-bound" in found.bottleneck
    assert found.rung is Rung.LOSSLESS


def test_each_figure_of_the_ceilings_is_the_better_of_before_and_after(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = profile(fake_engine, make_candidate(), tmp_path / "out", monkeypatch).placements[1]

    assert decode.memory_floor_s == pytest.approx(decode.bytes_moved / 3e12)
    assert decode.compute_floor_s == pytest.approx(decode.operations / 1e12)


@pytest.mark.parametrize(("counted", "expected"), [(None, 256), (100.0, 100), (400.0, 256)])
def test_the_smaller_of_the_predicted_and_the_counted_cache_is_in_the_floor(
    make_candidate, counted: float | None, expected: int
) -> None:
    candidate, facts = make_candidate()
    wide = replace(facts, kv_bytes_per_token=256, kv_full_layers=2, kv_heads=2, head_dim=16, kv_unknown="")
    short, long = (
        run._placed(Timed("decode", 1, tokens, (10**9,), counted), candidate, wide, BEFORE) for tokens in (100, 200)
    )

    assert short is not None
    assert long is not None
    assert long.bytes_moved - short.bytes_moved == 100 * expected


def test_a_device_is_held_against_its_own_ceilings(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def measure_device(device: str, *, python: Path) -> Ceilings:
        asked.append((device, python))
        return AFTER

    monkeypatch.setattr(ceilings, "measure_device", measure_device)
    python = Path(sys.executable)
    found = profile(fake_engine, make_candidate(), tmp_path / "out", monkeypatch, device="other:0", python=python)

    assert asked == [("other:0", python)]
    assert found.placements[0].compute_floor_s == pytest.approx(found.placements[0].operations / 0.5e12)


def test_progress_goes_from_nothing_to_all(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    profile(
        fake_engine, make_candidate(), tmp_path / "out", monkeypatch,
        on_progress=lambda fraction, what: told.append(fraction),
    )  # fmt: skip

    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)


def test_without_a_ceiling_steps_are_left_out_with_the_reason(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ceilings, "best_of", lambda before, after: Ceilings((), (), {"bandwidth": "no memory"}))
    found = profile(fake_engine, make_candidate(), tmp_path / "out", monkeypatch)

    assert (found.placements, found.rung) == ((), None)
    assert found.left_out["decode at batch 2"] == "its ceiling was not measured: bandwidth: no memory"


def test_an_engine_with_its_own_server_is_placed_by_trials(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = replace(fake_engine, served_by=ServedBy.OWN, open=None)
    single = trial(block(request([100, 150, 200], prompt_tokens=20)))
    crowd = trial(block(request([100, 170, 240], prompt_tokens=20)), concurrency=8)
    found = profile(own, make_candidate(), tmp_path / "out", monkeypatch, trials=[single, crowd])

    assert [(p.phase, p.batch) for p in found.placements] == [("prefill", 1), ("decode", 1), ("decode", 8)]
    assert found.left_out["operators"] == "fake runs in its own server, into which paredown cannot look"
    assert "prefill" not in found.left_out


def test_what_trials_do_not_show_is_said(
    fake_engine, make_candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = replace(fake_engine, served_by=ServedBy.REMOTE, open=None)
    late = replace(trial(block(request([100, 150], prompt_tokens=20))), void="sent late")
    crowd = trial(block(request([100, 170, 240], prompt_tokens=20)), concurrency=8)
    found = profile(remote, make_candidate(), tmp_path / "out", monkeypatch, trials=[late, crowd])

    assert "somebody else's server" in found.left_out["operators"]
    assert "one request at a time" in found.left_out["prefill"]
    assert any("it is void: sent late" in why for why in found.left_out.values())
