"""The KV cache that a configuration calls for, against counts made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paredown.models import describe, kv_cache
from paredown.models.kv_cache import KvLayers, element_bytes, kv_bytes, kv_bytes_without_window, layers_of
from paredown.records.artifact import Artifact, ModelFacts, TensorGroup
from paredown.testing.checkpoints import LLAMA, llama_shapes, write_checkpoint

QWEN2 = {"model_type": "qwen2", "sliding_window": 64, "max_window_layers": 2}
POSITION = 2 * 2 * 16 * 2  # keys and values, heads, size, bytes in 16 bits: one position of one layer of LLAMA


def facts(directory: Path, **config: Any) -> ModelFacts:
    whole = {**LLAMA, **config}
    return describe.facts(write_checkpoint(directory / "m", config=whole, shapes=llama_shapes(whole)))


def test_every_position_of_every_layer_is_kept(tmp_path: Path) -> None:
    assert kv_bytes(facts(tmp_path), 1000, 2.0) == 2 * 1000 * POSITION


def test_a_layer_with_a_window_holds_at_most_its_window(tmp_path: Path) -> None:
    found = facts(
        tmp_path, num_hidden_layers=4, sliding_window=100, layer_types=["sliding_attention"] * 3 + ["full_attention"]
    )

    assert (found.kv_full_layers, found.windowed_layers, found.window) == (1, 3, 100)
    assert kv_bytes(found, 80, 2.0) == 4 * 80 * POSITION
    assert kv_bytes(found, 1000, 2.0) == (1000 + 3 * 100) * POSITION
    assert kv_bytes(found, 1000, 2.0, sequences=5) == 5 * (1000 + 3 * 100) * POSITION
    assert kv_bytes_without_window(found, 1000, 2.0) == 4 * 1000 * POSITION


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "mistral", "sliding_window": 64}, KvLayers(0, 6, 64)),
        ({"model_type": "mistral", "sliding_window": None}, KvLayers(6)),
        ({**QWEN2, "use_sliding_window": False}, KvLayers(6)),
        ({**QWEN2, "use_sliding_window": True}, KvLayers(2, 4, 64)),
        ({"model_type": "gemma2", "sliding_window": 64}, KvLayers(3, 3, 64)),
        ({"model_type": "gemma3_text", "sliding_window": 64}, KvLayers(1, 5, 64)),
        ({"model_type": "gemma3_text", "sliding_window": 64, "sliding_window_pattern": 3}, KvLayers(2, 4, 64)),
        ({"attention_chunk_size": 64, "layer_types": ["chunked_attention"] * 6}, KvLayers(0, 6, 64)),
        ({"layer_types": ["linear_attention"] * 4 + ["full_attention"] * 2}, KvLayers(2)),
        ({"num_kv_shared_layers": 2}, KvLayers(4)),
    ],
)  # fmt: skip
def test_windows_are_read_as_each_family_writes_them(config: dict[str, Any], expected: KvLayers) -> None:
    assert layers_of(config, 6) == expected


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"kv_lora_rank": 512}, "latent"),
        ({"attn_layer_period": 8}, "state-space"),
        ({"num_key_value_heads": [2, 4, 4]}, "different sizes"),
        ({"global_head_dim": 512, "head_dim": 256}, "different sizes"),
        ({"layer_types": ["heavily_compressed_attention"] * 6}, "heavily_compressed_attention"),
        ({"layer_types": ["sliding_attention"] * 6}, "not how long"),
    ],
)
def test_what_is_not_understood_is_not_predicted(config: dict[str, Any], words: str) -> None:
    assert words in layers_of(config, 6).unknown


def test_without_a_prediction_there_is_no_number_but_a_reason(tmp_path: Path) -> None:
    found = facts(tmp_path, kv_lora_rank=16)

    assert kv_bytes(found, 100, 2.0) is None
    assert kv_bytes_without_window(found, 100, 2.0) is None
    assert "latent" in found.kv_unknown


def test_a_configuration_that_the_weights_contradict_predicts_nothing(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m", config={**LLAMA, "num_key_value_heads": 4}, shapes=llama_shapes())

    assert describe.facts(made).kv_unknown == "the configuration says 4 × 16 values a key, the weights have 32"


def test_layers_without_keys_of_their_own_predict_nothing(tmp_path: Path) -> None:
    shapes = {name: shape for name, shape in llama_shapes().items() if "layers.1.self_attn.k_proj" not in name}

    assert "no keys of their own" in describe.facts(write_checkpoint(tmp_path / "m", shapes=shapes)).kv_unknown


@pytest.mark.parametrize(
    ("config", "heads"),
    [({"multi_query": True}, 1), ({"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 2}, 2)],
)
def test_multi_query_attention_keeps_one_head(tmp_path: Path, config: dict[str, Any], heads: int) -> None:
    whole = {**{name: value for name, value in LLAMA.items() if name != "num_key_value_heads"}, **config}
    made = write_checkpoint(tmp_path / "m", config=whole, shapes=llama_shapes({**LLAMA, "num_key_value_heads": heads}))

    found = describe.facts(made)

    assert (found.kv_heads, found.kv_unknown) == (heads, "")


def artifact(*groups: TensorGroup) -> Artifact:
    return Artifact(Path("m"), "x", "d", 1, 1, 1, groups)


def test_the_engines_option_decides_the_type_of_keys_and_values(tmp_path: Path) -> None:
    found = facts(tmp_path)

    assert element_bytes(found, None, {"kv_cache_precision": "f16", "dtype": "float32"}) == 2.0
    assert element_bytes(found, None, {"dtype": "float32"}) == 4.0
    # A scale and a zero point of 4 bytes each: for keys once in 32 positions, for values once in 16 values of a head.
    assert element_bytes(found, None, {"kv_cache_precision": "u8"}) == 1.0 + (8 / 32 + 8 / 16) / 2
    assert element_bytes(found, None, {"kv_cache_dtype": "of the future"}) is None


def test_without_an_option_it_is_the_type_of_the_plain_weights(tmp_path: Path) -> None:
    found = facts(tmp_path)
    packed = (TensorGroup("U4", 1, 100, 50), TensorGroup("F32", 1, 3, 12), TensorGroup("BF16", 1, 1, 2))
    onnx = (TensorGroup("UINT8", 1, 100, 50), TensorGroup("FLOAT", 1, 3, 12))

    assert found.dtype == "bfloat16"
    assert element_bytes(found, artifact(*packed), {"threads": 2}) == 4.0
    assert element_bytes(found, artifact(*onnx), {}) == 4.0
    assert element_bytes(found, None, {"dtype": "auto"}) == 2.0


def test_facts_made_without_reading_it_predict_nothing(tmp_path: Path) -> None:
    unread = replace(facts(tmp_path), kv_unknown=ModelFacts.kv_unknown)

    assert kv_cache.kv_bytes(unread, 10, 2.0) is None
