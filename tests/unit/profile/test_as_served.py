"""What an engine reads and multiplies, where its options and artifact leave it a choice: the cheaper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paredown.profile.as_served import as_served, compute_dtype
from paredown.records.artifact import Artifact, ModelFacts, TensorGroup
from paredown.records.candidate import Candidate, Rung
from paredown.records.figure import Options
from paredown.records.machine import Ceilings, MatrixRate

FACTS = ModelFacts(
    name="m", path=Path(), architecture="a", dtype="float32", parameters=100, active_parameters=100, layers=2,
    hidden_size=4, heads=2, kv_heads=1, head_dim=64, vocabulary=10, context_length=100, tied_head=True,
    kv_bytes_per_token=32, linears=(), has_chat_template=True, kv_full_layers=2, kv_unknown="",
)  # fmt: skip
CEILINGS = Ceilings((), tuple(MatrixRate(d, r) for d, r in (("float32", 1.0), ("bfloat16", 2.0), ("int8", 4.0))))


def artifact(dtype: str, element_bytes: float, kind: str = "matrix") -> Artifact:
    groups = (TensorGroup(dtype, 1, 100, round(100 * element_bytes), kind), TensorGroup("F32", 1, 5, 20, "scale"))
    return Artifact(Path(), "hf", "d", round(100 * element_bytes) + 20, 999, 100, groups)


@pytest.mark.parametrize(
    ("stored", "options", "expected"),
    [
        (artifact("BF16", 2), {}, "float32"),
        (artifact("BF16", 2), {"dtype": "bfloat16", "threads": 2}, "bfloat16"),
        (artifact("F16", 2), {"inference_precision": "f32", "kv_cache_precision": "bf16"}, "float32"),
        (artifact("F16", 2), {"inference_precision": "f32", "activation_group_size": 32}, "int8"),
        (artifact("F16", 2), {"inference_precision": "f32", "activation_group_size": 0}, "float32"),
        (artifact("U8", 1), {}, "int8"),
        (artifact("U4", 0.5), {"dtype": "bfloat16"}, "int8"),
        (artifact("U8", 1, "embedding"), {"dtype": "bfloat16"}, "bfloat16"),
    ],
)
def test_the_fastest_arithmetic_that_may_be_used_sets_the_floor(
    stored: Artifact, options: Options, expected: str
) -> None:
    assert compute_dtype(stored, options, CEILINGS) == expected


def test_a_type_without_hardware_is_computed_in_float32() -> None:
    only_float32 = Ceilings((), (MatrixRate("float32", 1.0),))

    assert compute_dtype(artifact("F16", 2), {"dtype": "float16"}, only_float32) == "float32"


def served(stored: Artifact, options: Options, facts: ModelFacts = FACTS):
    return as_served(Candidate("c", Rung.BASELINE, "e", options, {"main": stored}), facts, CEILINGS)


def test_wide_weights_are_read_in_the_type_that_they_are_converted_to() -> None:
    found = served(artifact("F32", 4), {"dtype": "bfloat16"}).artifact

    assert [group.size_bytes for group in found.groups] == [200, 20], "scales stay as they are"
    assert found.weight_bytes == 220


def test_narrow_weights_are_not_read_wider_or_narrower_than_stored() -> None:
    assert served(artifact("BF16", 2), {"dtype": "float32"}).artifact == artifact("BF16", 2)
    assert served(artifact("U8", 1), {"dtype": "bfloat16"}).artifact == artifact("U8", 1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, 256 * 4), ({"kv_cache_precision": "f16"}, 256 * 2), ({"kv_cache_precision": "u8"}, 256)],
)
def test_the_cache_is_read_in_its_own_type(options: Options, expected: int) -> None:
    assert served(artifact("F32", 4), options).kv_bytes_per_token == expected


def test_a_cache_that_is_not_described_is_left_to_the_model() -> None:
    unknown = replace(FACTS, kv_unknown="a compressed state")

    assert served(artifact("F32", 4), {}, unknown).kv_bytes_per_token is None
