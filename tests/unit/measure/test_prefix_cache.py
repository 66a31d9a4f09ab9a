"""Cold and warm prefix cache, on the fake engine in a real host process and on scripted servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paredown import registry
from paredown.errors import UserError
from paredown.hosts import launch, tokenizer
from paredown.machine import describe
from paredown.measure import prefix_cache
from paredown.measure.prefix_cache import PrefixSettings, verdict
from paredown.measure.running import Start
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.testing import fake_models
from paredown.testing.elsewhere import Elsewhere
from paredown.testing.fake_language import CacheScript, FakeScript, Speeds
from paredown.testing.scripted_server import (
    STREAM_HEAD,
    Part,
    Received,
    Script,
    chunk,
    event,
    serving_in_thread,
    usage_chunk,
)
from paredown.traffic import synthetic

SETTINGS = PrefixSettings(prompt_tokens=400, output_tokens=2, requests=3)
SPEEDS = Speeds(prefill_ns_per_token=100_000)


def starter(path: Path, work: Path) -> Start:
    engine = registry.engine("fake")
    artifact = Artifact(path, "fake", "d", 1, 1, 1)
    candidate = Candidate("fake", Rung.BASELINE, "fake", engine.resolve(artifact, describe(), {}), {"main": artifact})
    return lambda: launch.start(engine, candidate, work, timeout_s=60)


def test_an_engine_that_keeps_prefixes_is_faster_on_prompts_sent_before(tmp_path: Path) -> None:
    script = FakeScript(cache=CacheScript(keeps_prefixes=True), speeds=SPEEDS)
    path = fake_models.make(tmp_path / "m", script)
    curve = prefix_cache.run(starter(path, tmp_path / "work"), tokenizer.load(path), SETTINGS)

    cold, warm = (point.figure("ttft_p50") for point in curve.points)
    assert [(point.x, point.label, point.void) for point in curve.points] == [(0.0, "cold", ""), (1.0, "warm", "")]
    assert cold is not None
    assert warm is not None
    assert cold.value is not None
    assert warm.value is not None
    assert cold.value >= 0.030  # most of 400 tokens at 0.1 ms are read
    assert warm.value < 0.5 * cold.value
    assert "prefixes are kept, though the server does not count hits" in curve.points[1].outcome


@pytest.mark.slow
def test_an_engine_without_a_prefix_cache_is_said_to_have_none(tmp_path: Path) -> None:
    path = fake_models.make(tmp_path / "m", FakeScript(speeds=Speeds(prefill_ns_per_token=200_000)))
    curve = prefix_cache.run(starter(path, tmp_path / "work"), tokenizer.load(path), SETTINGS)

    rate = curve.points[1].figure("prefix_cache_hit_rate")
    assert curve.points[1].outcome.startswith("no prefix cache seen")
    assert rate is not None
    assert rate.value is None
    assert "no cached_tokens in usage" in rate.missing


class CachingServer:
    """Remembers prompts, and tells hits in usage or in /metrics."""

    def __init__(self, *, in_usage: bool, in_metrics: bool, prompt_tokens: int = 400) -> None:
        self.in_usage, self.in_metrics, self.prompt_tokens = in_usage, in_metrics, prompt_tokens
        self.seen: set[str] = set()
        self.hits = self.queries = 0

    def __call__(self, asked: Received) -> list[Part]:
        if asked.path == "/metrics" and self.in_metrics:
            body = f"vllm:prefix_cache_queries_total {self.queries}\nvllm:prefix_cache_hits_total {self.hits}\n"
            return [f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]
        if "messages" not in asked.body:
            return [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]
        prompt = json.dumps(asked.body["messages"])
        cached = self.prompt_tokens - 8 if prompt in self.seen else 0
        self.seen.add(prompt)
        self.queries, self.hits = self.queries + self.prompt_tokens, self.hits + cached
        usage = usage_chunk(self.prompt_tokens, 2, cached if self.in_usage else None)
        chunks = [event(chunk(" a", [1])), event(chunk(" b", [2], "length")), event(usage), event("[DONE]")]
        return [STREAM_HEAD, *chunks]


@pytest.mark.parametrize(("in_usage", "in_metrics"), [(True, False), (False, True)])
def test_the_hit_rate_is_that_of_usage_or_else_of_the_servers_metrics(
    tmp_path: Path, in_usage: bool, in_metrics: bool
) -> None:
    tokens = tokenizer.load(fake_models.make(tmp_path / "m"))
    script: Script = CachingServer(in_usage=in_usage, in_metrics=in_metrics)
    with serving_in_thread(script) as server:
        curve = prefix_cache.run(Elsewhere(server.url), tokens, SETTINGS)

    cold, warm = (point.figure("prefix_cache_hit_rate") for point in curve.points)
    assert cold is not None
    assert warm is not None
    assert (cold.value, warm.value) == (0.0, 392 / 400)
    assert ("/metrics" in warm.note) is in_metrics
    assert "98% of the prompt tokens came from the prefix cache" in curve.points[1].outcome


def test_prompts_that_a_server_knows_all_the_same_make_the_cold_point_void(tmp_path: Path) -> None:
    tokens = tokenizer.load(fake_models.make(tmp_path / "m"))
    caching = CachingServer(in_usage=True, in_metrics=False)
    settings = PrefixSettings(prompt_tokens=400, output_tokens=2, requests=3, seed=5)
    with serving_in_thread(caching) as server:
        prefix_cache.run(Elsewhere(server.url), tokens, settings)
        again = prefix_cache.run(Elsewhere(server.url), tokens, settings)
        fresh = prefix_cache.run(Elsewhere(server.url), tokens, SETTINGS)

    assert "came from a prefix cache" in again.points[0].void
    assert fresh.points[0].void == ""


def test_a_short_context_shortens_the_prompts(tmp_path: Path) -> None:
    tokens = tokenizer.load(fake_models.make(tmp_path / "m", context_length=200))
    with serving_in_thread(CachingServer(in_usage=True, in_metrics=False, prompt_tokens=198)) as server:
        curve = prefix_cache.run(Elsewhere(server.url), tokens, SETTINGS)

    assert curve.notes == ("prompts of 198 tokens, 3 in each experiment, one at a time",)


def test_a_context_without_room_for_a_prompt_is_refused(tmp_path: Path) -> None:
    tokens = tokenizer.load(
        fake_models.make(
            tmp_path / "m", context_length=synthetic.shortest(tokenizer.load(fake_models.make(tmp_path / "any")))
        )
    )
    with pytest.raises(UserError, match="shorter answers"):
        prefix_cache.run(Elsewhere("http://127.0.0.1:9"), tokens, SETTINGS)


@pytest.mark.parametrize(
    ("cold", "warm", "rate", "words"),
    [
        (1.0, 0.1, 0.97, "97% of the prompt tokens came from the prefix cache by the server's count; TTFT is 10%"),
        (1.0, 0.95, 0.97, "count, yet TTFT is 95%"),
        (1.0, 0.95, 0.0, "no prefix cache seen: 0%"),
        (1.0, 0.2, 0.0, "count, yet TTFT is 20%"),
        (1.0, 0.2, None, "prefixes are kept, though"),
        (1.0, 0.95, None, "no prefix cache seen: TTFT is 95%"),
        (None, 0.95, 0.9, "cannot be compared"),
        (1.0, None, 0.9, "cannot be compared"),
    ],
)
def test_ttft_and_hits_together_tell_whether_there_is_a_cache(
    cold: float | None, warm: float | None, rate: float | None, words: str
) -> None:
    assert words in verdict(cold, warm, rate)
