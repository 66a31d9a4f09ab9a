"""A trial against the fake engine in a real host process: what only a process of its own can show."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from paredown import registry
from paredown.errors import EngineDied
from paredown.hosts import launch
from paredown.machine import describe
from paredown.measure import trial
from paredown.measure.overhead import engine_tpot_s
from paredown.measure.running import Running, Start
from paredown.measure.trial import TrialSettings
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.traffic import Message, Traffic, TrafficRequest
from paredown.testing import fake_models, scripted_server
from paredown.testing.elsewhere import Elsewhere
from paredown.testing.fake_language import FakeScript, Faults, Speeds

CHAT = Traffic(
    "chat", "", "single_stream", tuple(TrafficRequest(f"r{i}", (Message("user", f"Hello {i}"),), 6) for i in range(3))
)


def starter(directory: Path, script: FakeScript) -> Start:
    path = fake_models.make(directory / "model", script)
    engine = registry.engine("fake")
    artifact = Artifact(path, "fake", "d", 1, 1, 1)
    candidate = Candidate("fake", Rung.BASELINE, "fake", engine.resolve(artifact, describe(), {}), {"main": artifact})

    def start() -> AbstractContextManager[Running]:
        return launch.start(engine, candidate, directory / "work", timeout_s=30)

    return start


SCRIPT = FakeScript(speeds=Speeds(decode_ns_per_step=8_000_000), scripted_clock=True)


def test_memory_startup_stamps_and_lengths_come_from_the_process(tmp_path: Path) -> None:
    (measured,) = trial.run(starter(tmp_path, SCRIPT), "fake", [CHAT], TrialSettings(blocks=1, ttft_target_s=60.0))
    block = measured.blocks[0]

    assert measured.void == ""
    assert [(r.failure, r.output_tokens, len(r.chunks)) for r in block.requests] == [("", 6, 6)] * 3
    assert block.startup is not None
    assert block.startup.first_token_ns is not None
    assert block.startup.first_token_ns > block.startup.ready_ns > 0
    assert block.memory is not None
    assert block.memory.peak_bytes > 1 << 20
    assert block.background_load is None or 0.0 <= block.background_load <= 1.0
    assert engine_tpot_s(block.requests[0]) == pytest.approx(0.008)


def test_a_process_that_dies_is_an_error_and_is_gone(tmp_path: Path) -> None:
    script = FakeScript(faults=Faults(die_after_tokens=1))
    with pytest.raises(EngineDied):
        trial.run(starter(tmp_path, script), "fake", [CHAT], TrialSettings(blocks=1))


@pytest.mark.slow
def test_requests_that_were_computed_together_are_counted_and_no_more_than_were_in_flight(tmp_path: Path) -> None:
    crowd = Traffic("crowd", "", "closed_loop", CHAT.requests, {"concurrency": 3})
    # Steps take real time here, so that the others of the crowd arrive while the first one is being answered.
    slow = FakeScript(speeds=Speeds(decode_ns_per_step=20_000_000))
    alone, together = trial.run(starter(tmp_path, slow), "fake", [CHAT, crowd], TrialSettings(blocks=1))

    assert alone.batching_seen == 1
    assert together.batching_seen in (2, 3)


def test_nothing_looks_for_the_process_of_a_server_that_is_somebody_elses() -> None:
    """Looking every 10 ms for what never comes took a fifth of a small machine from the server beside it."""
    threads: set[str] = set()

    def script(received: scripted_server.Received) -> list[scripted_server.Part]:
        threads.update(thread.name for thread in threading.enumerate())
        return scripted_server.answer(range(6))

    with scripted_server.serving_in_thread(script) as server:
        (measured,) = trial.run(Elsewhere(server.url), "theirs", [CHAT], TrialSettings(blocks=1, fresh=False))
    assert measured.blocks[0].background_load is None
    assert threads
    assert "memory-sampler" not in threads
