"""Options of the two CPU engines, written out in full; no engine library is imported."""

from __future__ import annotations

import pytest

from paredown.engines import onnxruntime_genai, openvino_genai
from paredown.errors import UserError
from paredown.records.machine import Machine

MACHINE = Machine("host", "linux", "cpu", 8, 6, (), 2**33, (), {})
ENGINES = [onnxruntime_genai.ENGINE, openvino_genai.ENGINE]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_every_option_is_written_out_and_threads_are_the_usable_cores(engine) -> None:
    resolved = engine.resolve(None, MACHINE, {})
    assert set(resolved) == {option.name for option in engine.options}
    assert resolved["threads"] == 6


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_what_is_asked_for_is_kept(engine) -> None:
    assert engine.resolve(None, MACHINE, {"threads": 3})["threads"] == 3


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_an_unknown_option_is_refused_with_the_known_ones(engine) -> None:
    with pytest.raises(UserError, match="threads"):
        engine.resolve(None, MACHINE, {"treads": 3})


def test_a_precision_that_does_not_exist_is_refused_with_the_choices() -> None:
    with pytest.raises(UserError, match="f32, f16, bf16, u8"):
        openvino_genai.resolve(None, MACHINE, {"kv_cache_precision": "f64"})


def test_openvino_tells_the_runtime_every_numeric_option() -> None:
    told = openvino_genai.properties(openvino_genai.resolve(None, MACHINE, {}))
    assert told == {
        "INFERENCE_NUM_THREADS": 6,
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f16",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
        "PERFORMANCE_HINT": "LATENCY",
    }


@pytest.mark.parametrize("length", [1, 2, 255, 256, 257, 512, 513, 514])
def test_a_prompt_is_read_in_parts_none_of_which_is_a_single_token(length: int) -> None:
    parts = list(onnxruntime_genai.prompt_parts(range(length)))
    assert [token for part in parts for token in part] == list(range(length))
    assert all(len(part) <= onnxruntime_genai.CHUNK for part in parts)
    assert length == 1 or all(len(part) > 1 for part in parts)
