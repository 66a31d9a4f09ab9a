"""What the engines say of their KV cache, computed from what their libraries tell; no library is imported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from paredown.contracts import GenerationRequest, KvCacheUse
from paredown.engines import onnxruntime_genai, openvino_genai
from paredown.engines.onnxruntime_genai import ModelConfig

PER_LAYER = ("present.0.key", "present.0.value")


class Pipeline:
    """openvino-genai's metrics: bytes reserved, and the percentage of them that is in use."""

    def __init__(self, reserved: int, used: int) -> None:
        self.reserved, self.used, self.asked = reserved, used, 0

    def get_metrics(self) -> Any:
        self.asked += 1
        return SimpleNamespace(cache_size_in_bytes=self.reserved, cache_usage=100 * self.used / self.reserved)


def paged(pipeline: Pipeline, *made: int, prompt: int = 100) -> openvino_genai.Generation:
    session = openvino_genai.Generation(pipeline, 4096)
    for number, count in enumerate(made):
        request = GenerationRequest(str(number), tuple(range(prompt)), 50)
        session._active[request.id] = openvino_genai._Active(request, None, count)
    return session


def test_openvino_counts_whole_blocks_and_what_the_reserve_holds() -> None:
    session = paged(Pipeline(reserved=1_000_000, used=4 * 1000), 1)

    assert session.kv_cache() == KvCacheUse(4000, 4 * 32, 1000 * 32)


def test_openvino_learns_the_size_of_a_block_from_a_request_that_was_alone() -> None:
    pipeline = Pipeline(reserved=1_000_000, used=4 * 1000)
    session = paged(pipeline, 29)  # 100 + 28 positions are held: the token made last is not there yet
    first = session.kv_cache()
    pipeline.used = 11_000

    assert first == KvCacheUse(4000, 128, 32_000)
    assert session.kv_cache() == KvCacheUse(11_000, 11 * 32, 32_000)


def test_openvino_says_nothing_before_it_can_know() -> None:
    assert paged(Pipeline(1_000_000, 4000), 0).kv_cache() is None
    assert paged(Pipeline(1_000_000, 4000), 1, 1).kv_cache() is None


class Generator:
    """A generator of onnxruntime-genai whose cache tensors have room for `positions`."""

    def __init__(self, positions: int, read: int = 0) -> None:
        self.positions, self.read, self.asked = positions, read, 0

    def get_output(self, name: str) -> Any:
        assert name in PER_LAYER
        self.asked += 1
        return SimpleNamespace(nbytes=self.positions * 8)

    def token_count(self) -> int:
        return self.read


def serial(config: ModelConfig, generator: Generator) -> onnxruntime_genai.Generation:
    session = onnxruntime_genai.Generation(None, config)
    request = GenerationRequest("a", tuple(range(100)), 50)
    session._active["a"] = onnxruntime_genai._Active(request, generator)
    return session


def test_a_shared_buffer_takes_prompt_and_whole_answer_from_the_start() -> None:
    session = serial(ModelConfig(4096, True, False, PER_LAYER), Generator(150, read=101))

    assert session.kv_cache() == KvCacheUse(150 * 16, 150)


def test_a_cache_that_grows_takes_what_was_read() -> None:
    session = serial(ModelConfig(4096, False, False, PER_LAYER), Generator(101, read=101))

    assert session.kv_cache() == KvCacheUse(101 * 16, 101)


def test_the_tensors_are_looked_at_once_because_looking_copies_them() -> None:
    generator = Generator(150)
    session = serial(ModelConfig(4096, True, False, PER_LAYER), generator)
    session.kv_cache()
    session.kv_cache()

    assert generator.asked == len(PER_LAYER)


def test_with_a_window_the_tensors_are_looked_at_each_time() -> None:
    generator = Generator(64)
    session = serial(ModelConfig(4096, True, True, PER_LAYER), generator)
    session.kv_cache()
    generator.positions = 32

    assert session.kv_cache() == KvCacheUse(32 * 16, 150)


def test_a_configuration_that_names_no_cache_says_nothing() -> None:
    assert serial(ModelConfig(4096, True, False, ()), Generator(150)).kv_cache() is None
