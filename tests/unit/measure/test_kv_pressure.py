"""A KV cache that fills up: on the fake engine in a real host process, and on scripted servers."""

from __future__ import annotations

import itertools
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from paredown import registry
from paredown.hosts import launch, tokenizer
from paredown.hosts.running import RunningEngine
from paredown.machine import describe
from paredown.measure import kv_pressure
from paredown.measure.kv_pressure import PressureSettings, Shape, shape_of, waited
from paredown.measure.running import Start
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.measurement import Curve
from paredown.testing import fake_models
from paredown.testing.elsewhere import Elsewhere
from paredown.testing.fake_language import CacheScript, FakeScript, Faults, Speeds
from paredown.testing.scripted_events import request
from paredown.testing.scripted_server import Part, Received, answer, serving_in_thread

CAPACITY = 1600
SPEEDS = Speeds(decode_ns_per_step=2_000_000)
SETTINGS = PressureSettings(requests=4, shares=(0.5, 1.0, 1.3))


def starter(path: Path, work: Path) -> Start:
    engine = registry.engine("fake")
    artifact = Artifact(path, "fake", "d", 1, 1, 1)
    candidate = Candidate("fake", Rung.BASELINE, "fake", engine.resolve(artifact, describe(), {}), {"main": artifact})

    def start() -> AbstractContextManager[RunningEngine]:
        return launch.start(engine, candidate, work, timeout_s=60)

    return start


def curve_of(directory: Path, script: FakeScript, settings: PressureSettings = SETTINGS) -> Curve:
    path = fake_models.make(directory / "m", script)
    return kv_pressure.run(starter(path, directory / "work"), tokenizer.load(path), settings)


@pytest.mark.slow
def test_what_does_not_fit_waits_until_another_has_finished(tmp_path: Path) -> None:
    curve = curve_of(tmp_path, FakeScript(cache=CacheScript(capacity_tokens=CAPACITY), speeds=SPEEDS))

    assert [(point.x, point.label) for point in curve.points] == [(0.5, "50 %"), (1.0, "100 %"), (1.3, "130 %")]
    assert "2 requests of 400 positions: all were served together" in curve.points[0].outcome
    assert "4 requests of 400 positions: all were served together" in curve.points[1].outcome
    # 6 × 347 positions: four fit in 1,600, so two wait.
    assert "2 of 6 got their first token only after another had finished" in curve.points[2].outcome
    assert curve.notes[0] == "the cache holds 1,600 positions, as the engine says"
    assert "positions were held so far" in curve.points[2].outcome


def test_running_out_of_memory_is_an_outcome(tmp_path: Path) -> None:
    cache = CacheScript(capacity_tokens=CAPACITY, fails_when_full=True)
    curve = curve_of(tmp_path, FakeScript(cache=cache, speeds=SPEEDS))

    assert curve.points[1].failures == {}
    assert sum(curve.points[2].failures.values()) > 0
    assert "failed for want of memory" in curve.points[2].outcome


def test_an_engine_that_dies_ends_the_curve_with_its_last_point(tmp_path: Path) -> None:
    # Warm-up makes 32 tokens, the first point 2 × 100.
    cache = CacheScript(capacity_tokens=CAPACITY)
    curve = curve_of(tmp_path, FakeScript(cache=cache, speeds=SPEEDS, faults=Faults(die_after_tokens=300)))

    assert [point.label for point in curve.points] == ["50 %", "100 %"]
    assert curve.points[1].failures == {"died": 4}
    assert curve.points[1].outcome.startswith("the engine died with 4 requests of 400 positions: ")
    assert "nothing was measured beyond" in curve.notes[-1]
    assert all(figure.value is None and figure.missing for figure in curve.points[1].figures)


def test_an_engine_that_takes_what_memory_holds_has_no_capacity_to_fill(tmp_path: Path) -> None:
    curve = curve_of(tmp_path, FakeScript(speeds=SPEEDS))

    assert curve.points == ()
    assert "--kv-capacity" in curve.notes[0]


def test_the_users_word_is_the_capacity(tmp_path: Path) -> None:
    settings = PressureSettings(capacity_tokens=800, requests=2, shares=(1.0,))
    curve = curve_of(tmp_path, FakeScript(speeds=SPEEDS), settings)

    assert "2 requests of 400 positions" in curve.points[0].outcome
    assert curve.notes[0] == "the cache is taken to hold 800 positions, as was asked for"


def test_the_time_budget_ends_the_curve(tmp_path: Path) -> None:
    path = fake_models.make(tmp_path / "m", FakeScript(cache=CacheScript(capacity_tokens=CAPACITY)))
    seconds = itertools.count(step=10)
    curve = kv_pressure.run(
        starter(path, tmp_path / "work"),
        tokenizer.load(path),
        PressureSettings(requests=4, shares=(0.5, 1.0), budget_s=35),
        now_ns=lambda: next(seconds) * 10**9,
    )

    assert [point.label for point in curve.points] == ["50 %"]
    assert curve.notes[-1] == "100% and more left out: it would take longer than the time budget of 35 s"


class FillingServer:
    """vLLM's metrics; preempts when more than `fit` are asked for at once, and refuses beyond `most`."""

    def __init__(self, *, tells_capacity: bool = True, most: int = 99) -> None:
        self.tells_capacity, self.most = tells_capacity, most
        self.preemptions, self.chats = 11, 0  # those of others, before

    def __call__(self, asked: Received) -> list[Part]:
        if asked.path == "/metrics":
            body = f"vllm:num_preemptions_total {self.preemptions}\n"
            if self.tells_capacity:
                body += 'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1\n'
            return [f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]
        if "messages" not in asked.body:
            return [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]
        self.chats += 1
        if self.chats > self.most:
            return [b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull"]
        if self.chats > 2 + 2 + 4:  # warm-up and the first two points
            self.preemptions += 1
        count = asked.body["max_tokens"]
        assert isinstance(count, int)
        return answer(list(range(1, count + 1)))


def test_the_servers_own_metrics_tell_capacity_and_preemptions(tmp_path: Path) -> None:
    tokens = tokenizer.load(fake_models.make(tmp_path / "m"))
    with serving_in_thread(FillingServer()) as server:
        curve = kv_pressure.run(Elsewhere(server.url), tokens, SETTINGS)

    assert curve.notes[0] == "the cache holds 1,600 positions, as the server's /metrics says"
    assert "none was preempted" in curve.points[1].outcome
    assert "6 preemptions" in curve.points[2].outcome


def test_refused_requests_are_counted_by_status(tmp_path: Path) -> None:
    tokens = tokenizer.load(fake_models.make(tmp_path / "m"))
    with serving_in_thread(FillingServer(most=2 + 2 + 3)) as server:
        curve = kv_pressure.run(Elsewhere(server.url), tokens, SETTINGS)

    assert "1 were refused (1 status_503)" in curve.points[1].outcome
    assert curve.points[2].failures == {"status_503": 6}
    assert "none was answered" in curve.points[2].outcome


def test_a_server_that_does_not_tell_its_capacity_has_to_be_told_it(tmp_path: Path) -> None:
    tokens = tokenizer.load(fake_models.make(tmp_path / "m"))
    with serving_in_thread(FillingServer(tells_capacity=False)) as server:
        curve = kv_pressure.run(Elsewhere(server.url), tokens, SETTINGS)

    assert curve.points == ()
    assert "does not tell" in curve.notes[0]
    assert "--kv-capacity" in curve.notes[0]


@pytest.mark.parametrize(
    ("share", "window", "expected"),
    [
        (0.5, None, Shape(4, 150, 50)),
        (1.0, None, Shape(8, 150, 50)),
        (1.3, None, Shape(11, 142, 47)),
        (1.0, 100, Shape(16, 75, 25)),
    ],
)
def test_a_point_takes_its_share_of_the_cache(share: float, window: int | None, expected: Shape) -> None:
    shape = shape_of(1600, share, 8, window, 20)

    assert shape == expected
    assert shape.positions == pytest.approx(share * 1600, rel=0.01)


def test_answers_are_not_longer_than_a_limit() -> None:
    assert shape_of(64_000, 1.0, 8, None, 20) == Shape(8, 8000 - 256, 256)


def test_requests_that_started_after_another_ended_waited() -> None:
    together = [request([1.0, 5.0]), request([2.0, 6.0])]

    assert waited(together) == 0
    assert waited([*together, request([5.5, 9.0])]) == 1
    assert waited([request([1.0, 2.0])]) == 0
