"""Artifacts as their files describe them, and whether anything was really optimized."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from paredown.errors import UnknownNameError, UserError
from paredown.models import artifact
from paredown.records.artifact import Artifact, LayerLeft, TensorGroup
from paredown.records.candidate import Rung
from paredown.testing import fake_models
from paredown.testing.checkpoints import LLAMA, llama_shapes, write_checkpoint

BNB = {**LLAMA, "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}


def four_bit_shapes() -> dict[str, tuple[str, tuple[int, ...]]]:
    """What bitsandbytes writes for NF4: packed bytes, absmax per 64 weights, a code book and a state per matrix."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (dtype, shape) in llama_shapes().items():
        if "proj" not in name:
            shapes[name] = (dtype, shape)
            continue
        weights = shape[0] * shape[1]
        shapes |= {
            name: ("U8", (weights // 2, 1)),
            f"{name}.absmax": ("F32", (weights // 64,)),
            f"{name}.quant_map": ("F32", (16,)),
            f"{name}.quant_state.bitsandbytes__nf4": ("U8", (80,)),
        }
    return shapes


def described(directory: Path, name: str = "hf") -> Artifact:
    return artifact.describe(directory, format=name, parameters=90_000)


def test_weights_are_counted_from_the_headers(tmp_path: Path) -> None:
    made = described(write_checkpoint(tmp_path / "m"))

    assert made.weight_bytes == 2 * sum(group.elements for group in made.groups)
    assert made.disk_bytes == sum(file.stat().st_size for file in made.path.iterdir())
    assert made.bits_per_parameter == 8 * made.weight_bytes / 90_000
    assert {group.kind for group in made.groups} == {"matrix", "embedding", "other"}


def test_four_bit_bytes_count_two_weights_each(tmp_path: Path) -> None:
    made = described(write_checkpoint(tmp_path / "m", config=BNB, shapes=four_bit_shapes()), "bitsandbytes")
    matrices = next(group for group in made.groups if group.kind == "matrix")

    assert (matrices.dtype, matrices.bits, matrices.elements) == ("NF4", 4.0, 73_728)
    assert sum(group.size_bytes for group in made.groups if group.kind == "scale") == 14 * (64 + 80) + 4 * 73_728 // 64


def test_eight_bit_matrices_are_known_by_their_scales(tmp_path: Path) -> None:
    shapes = llama_shapes() | {"model.layers.0.mlp.up_proj.weight": ("I8", (128, 64))}
    shapes["model.layers.0.mlp.up_proj.SCB"] = ("F32", (128,))

    made = described(write_checkpoint(tmp_path / "m", config=BNB, shapes=shapes), "bitsandbytes")

    assert TensorGroup("I8", 1, 128 * 64, 128 * 64, "matrix") in made.groups
    assert TensorGroup("F32", 1, 128, 512, "scale") in made.groups


def test_a_fake_artifact_counts_what_its_script_says(tmp_path: Path) -> None:
    source = fake_models.make(tmp_path / "fake")
    made = described(fake_models.variant(source, tmp_path / "small", weight_bytes=250_000), "fake")

    assert made.weight_bytes == 250_000
    assert made.groups[0].bits == 4.0


def test_an_unknown_format_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'openvino'"):
        described(tmp_path, "openvin")


def test_damaged_weights_are_not_described(tmp_path: Path) -> None:
    made = write_checkpoint(tmp_path / "m")
    (made / "model.safetensors").write_bytes(b"damage")

    with pytest.raises(UserError, match="is damaged"):
        described(made)


# ── was anything optimized? ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def source(tmp_path: Path) -> Artifact:
    return described(write_checkpoint(tmp_path / "source"))


def test_four_bits_that_are_there_pass(source: Artifact, tmp_path: Path) -> None:
    made = described(write_checkpoint(tmp_path / "m", config=BNB, shapes=four_bit_shapes()), "bitsandbytes")

    found = artifact.was_optimized(source, made, 4.0)

    assert found.passed is True
    assert "4.0 bits per parameter" in found.detail


def test_four_bits_that_are_only_claimed_fail(source: Artifact, tmp_path: Path) -> None:
    made = described(write_checkpoint(tmp_path / "m", config=BNB), "bitsandbytes")

    found = artifact.was_optimized(source, made, 4.0)

    assert found.passed is False
    assert found.detail.startswith("nothing was optimized: the weight matrices hold 16.0 bits per parameter")


def test_eight_bits_do_not_pass_for_four(source: Artifact) -> None:
    made = dataclasses.replace(source, digest="other", groups=(TensorGroup("I8", 14, 1000, 1000, "matrix"),))

    assert artifact.was_optimized(source, made, 4.0).passed is False
    assert artifact.was_optimized(source, made, 8.0).passed is True


def test_the_total_does_not_hide_unchanged_matrices(source: Artifact) -> None:
    shrunk_table = TensorGroup("U4", 1, 10_000, 5_000, "embedding")
    made = dataclasses.replace(
        source, digest="other", groups=(TensorGroup("BF16", 14, 1000, 2000, "matrix"), shrunk_table)
    )

    assert artifact.was_optimized(source, made, 8.0).passed is False


def test_less_than_half_of_the_matrices_is_too_little(source: Artifact) -> None:
    groups = (TensorGroup("U4", 3, 400, 200, "matrix"), TensorGroup("BF16", 5, 600, 1200, "matrix"))
    made = dataclasses.replace(source, digest="other", groups=groups)

    found = artifact.was_optimized(source, made, 4.0)

    assert found.passed is False
    assert "40%" in found.detail


def test_a_copy_of_the_source_is_nothing_optimized_whatever_the_claim(source: Artifact) -> None:
    for claimed in (None, 16.0):
        assert artifact.was_optimized(source, source, claimed).passed is False


def test_without_known_matrices_the_check_says_that_it_cannot_tell(source: Artifact) -> None:
    made = dataclasses.replace(source, digest="other", groups=(TensorGroup("F32", 1, 10, 40, "other"),))

    assert artifact.was_optimized(source, made, 4.0).passed is None


def test_only_the_quantizing_rungs_claim_bits() -> None:
    assert [artifact.claimed_bits(rung) for rung in Rung] == [None, None, 8.0, 4.0, None, None]


# ── what was left ────────────────────────────────────────────────────────────────────────────────────────────────


def test_layers_above_the_claimed_bits_are_listed_with_their_bits(tmp_path: Path) -> None:
    shapes = four_bit_shapes()
    for layer in range(2):
        shapes[f"model.layers.{layer}.mlp.up_proj.weight"] = ("BF16", (128, 64))
        del shapes[f"model.layers.{layer}.mlp.up_proj.weight.quant_state.bitsandbytes__nf4"]
    made = write_checkpoint(tmp_path / "m", config=BNB, shapes=shapes)

    left = artifact.higher_precision(made, "bitsandbytes", 4.0)

    assert [(layer.name, layer.bits) for layer in left] == [
        ("model.embed_tokens.weight", 16.0),
        ("model.layers.*.mlp.up_proj.weight (2 layers)", 16.0),
    ]


def test_a_layer_with_a_declared_reason_is_not_listed_twice() -> None:
    declared = [LayerLeft("model.embed_tokens", "a table", 16.0)]
    found = [LayerLeft("model.embed_tokens.weight", "stored as BF16", 16.0), LayerLeft("x.weight", "stored", 16.0)]

    assert [layer.name for layer in artifact.merged_layers_left(declared, found)] == ["model.embed_tokens", "x.weight"]


def test_an_embedding_that_is_named_in_words_is_not_listed_twice() -> None:
    declared = [LayerLeft("embedding and head", "4 bits lose most there", 8.0)]
    found = [LayerLeft("self.model.embed_tokens", "stored as U8", 8.0)]

    assert artifact.merged_layers_left(declared, found) == tuple(declared)
