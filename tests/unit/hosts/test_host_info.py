"""What a host tells of the KV cache of its engine, asked over the socket of a real host process."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from paredown import registry
from paredown.hosts import launch
from paredown.hosts.running import RunningEngine
from paredown.machine import describe
from paredown.measure.load import SendSettings, drive
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing import fake_models
from paredown.testing.fake_language import CacheScript, FakeScript


def started(directory: Path, script: FakeScript) -> AbstractContextManager[RunningEngine]:
    path = fake_models.make(directory / "model", script)
    engine = registry.engine("fake")
    artifact = Artifact(path, "fake", "d", 1, 1, 1)
    candidate = Candidate("fake", Rung.BASELINE, "fake", engine.resolve(artifact, describe(), {}), {"main": artifact})
    return launch.start(engine, candidate, directory / "work", timeout_s=60)


def test_the_largest_cache_and_its_capacity_are_told_once_there_was_one(tmp_path: Path) -> None:
    request = TrafficRequest("a", (Message("user", "Hello"),), 3)
    with started(tmp_path, FakeScript(cache=CacheScript(bytes_per_token=100, capacity_tokens=500))) as running:
        before = running.host_info()
        (events,) = drive(running, registry.load_shape("single_stream"), {}, [request], SendSettings(True, 60.0))
        after = running.host_info()

    assert before is not None
    assert (before.kv_bytes, before.kv_tokens, before.kv_capacity_tokens) == (None, None, None)
    assert after is not None
    assert events.prompt_tokens is not None
    assert after.kv_tokens in (events.prompt_tokens + 1, events.prompt_tokens + 2)  # the last step leaves nothing
    assert after.kv_bytes == 100 * after.kv_tokens
    assert after.kv_capacity_tokens == 500
