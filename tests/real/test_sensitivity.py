"""Leave-one-layer sensitivity on small real models: damage planted in one part is found there and only there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from paredown.evaluate import sensitivity, worker_sensitivity
from paredown.evaluate.worker_sensitivity import SensitivityText, SensitivityWork
from paredown.models import artifact, dense
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.explanation import Sensitivity
from paredown.records.golden import FidelityText
from paredown.testing import tiny_models

pytestmark = pytest.mark.real

TEXTS = (SensitivityText(tuple(range(40, 64)), 1), SensitivityText(tuple(range(90, 70, -1)), 8))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.make_llama(
        tmp_path_factory.mktemp("models") / "tiny", num_hidden_layers=4, initializer_range=0.08
    )


@pytest.fixture
def damaged(model: Path, tmp_path: Path) -> Callable[[Mapping[str, Any]], Path]:
    """A copy of the model with some tensors replaced by functions of themselves."""

    def make(changes: Mapping[str, Any]) -> Path:
        copy = tmp_path / "damaged"
        shutil.copytree(model, copy)
        tensors = load_file(copy / "model.safetensors")
        save_file(
            tensors | {name: change(tensors[name]) for name, change in changes.items()},
            copy / "model.safetensors",
            metadata={"format": "pt"},
        )
        return copy

    return make


def look(model: Path, candidate: Path, format_name: str = "hf") -> Sensitivity:
    work = SensitivityWork("c", str(model), str(candidate), format_name, TEXTS, threads=1)
    return worker_sensitivity.measure(work, lambda _fraction, _what: None)


def test_a_damaged_block_is_named_and_the_others_lose_nothing(model: Path, damaged: Any) -> None:
    found = look(model, damaged({"model.layers.2.mlp.down_proj.weight": lambda values: values * 1.5}))
    losses = {part.name: part.mean_kl for part in found.parts}
    assert list(losses) == ["embedding", "block 0", "block 1", "block 2", "block 3", "rest", "head"]
    assert losses["block 2"] > 1e-4
    assert [name for name, loss in losses.items() if loss > 0] == ["block 2"]
    assert found.whole_kl == pytest.approx(losses["block 2"], rel=1e-4)
    worst = next(part for part in found.parts if part.name == "block 2")
    assert (worst.weights, worst.relative_error) == (64 * 128, pytest.approx(0.5))
    assert found.positions == 23 + 12
    assert found.not_read == ()


def test_of_a_tied_table_the_share_of_embedding_and_head_are_told_apart(model: Path, damaged: Any) -> None:
    rng = np.random.default_rng(1)
    found = look(
        model, damaged({"model.embed_tokens.weight": lambda values: values + 0.02 * rng.normal(size=values.shape)})
    )
    losses = {part.name: part.mean_kl for part in found.parts}
    assert losses["embedding"] > 0
    assert losses["head"] > 0
    assert losses["embedding"] != losses["head"]
    assert all(losses[f"block {index}"] == 0 for index in range(4))


def test_it_is_the_divergence_that_the_two_models_have_when_they_run_by_themselves(model: Path, damaged: Any) -> None:
    import torch
    import transformers

    changes = {
        f"model.layers.{index}.self_attn.{name}.weight": lambda values: np.round(values * 16) / 16
        for index in range(4)
        for name in ("q_proj", "v_proj")
    }
    other = damaged(changes)
    found = look(model, other)
    total = positions = 0.0
    loaded = [transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32) for path in (model, other)]
    for text in TEXTS:
        ids = torch.tensor([text.token_ids])
        with torch.inference_mode():
            p, q = (one(input_ids=ids).logits[0, text.start - 1 : -1].log_softmax(-1) for one in loaded)
        total += float((p.exp() * (p - q)).sum())
        positions += len(p)
    assert found.whole_kl == pytest.approx(total / positions, rel=1e-3)


def test_tensors_that_the_candidate_does_not_give_back_are_named(model: Path, damaged: Any) -> None:
    other = damaged({})
    tensors = load_file(other / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, other / "model.safetensors", metadata={"format": "pt"})
    assert look(model, other).not_read == ("model.layers.1.mlp.up_proj.weight",)


def test_the_worker_runs_in_a_process_of_its_own(model: Path, damaged: Any, tmp_path: Path) -> None:
    import sys

    other = damaged({"model.layers.0.mlp.up_proj.weight": lambda values: values * 0.5})
    source, made = (_artifact(path) for path in (model, other))
    texts = [FidelityText("t", "s", TEXTS[0].token_ids, 1)]
    found = sensitivity.measure(
        source, Candidate("c", Rung.EIGHT_BIT, "transformers", {}, {"main": made}), texts, tmp_path / "work",
        on_progress=lambda _fraction, _what: None, python=Path(sys.executable), threads=1,
    )  # fmt: skip
    assert found.missing == ""
    assert max(found.parts, key=lambda part: part.mean_kl).name == "block 0"


def _artifact(path: Path) -> Artifact:
    return artifact.describe(path, format="hf", parameters=1)


def test_four_and_eight_bits_of_bitsandbytes_are_read_as_the_library_reads_them(tmp_path: Path) -> None:
    import torch

    functional = pytest.importorskip("bitsandbytes.functional")
    name, values = "model.layers.0.mlp.up_proj.weight", torch.randn(64, 128)
    for nested in (False, True):
        packed, state = functional.quantize_4bit(values, quant_type="nf4", compress_statistics=nested)
        stored = {name: packed} | {f"{name}.{part}": tensor for part, tensor in state.as_dict(packed=True).items()}
        folder = tmp_path / str(nested)
        folder.mkdir()
        save_file({key: tensor.numpy() for key, tensor in stored.items()}, folder / "model.safetensors")
        read = dense.weights(folder, "bitsandbytes")[name]()
        assert read == pytest.approx(functional.dequantize_4bit(packed, state).numpy(), abs=1e-6)


def test_matmul_n_bits_is_read_as_onnx_runtime_computes_it(tmp_path: Path) -> None:
    """An identity goes through the very node, so that what comes out is the matrix."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(2)
    for bits, zero_points in ((4, False), (4, True), (8, False)):
        rows, columns, block = 16, 64, 32
        packed = rng.integers(0, 256, (rows, columns // block, block * bits // 8), dtype=np.uint8)
        scales = rng.random((rows, columns // block), dtype=np.float32)
        arrays = {"B": packed, "scales": scales}
        if zero_points:
            arrays["zero"] = rng.integers(0, 256, (rows, columns // block * bits // 8), dtype=np.uint8)
        node = onnx.helper.make_node(
            "MatMulNBits", ["A", *arrays], ["Y"], name="/model/layers.0/mlp/up_proj/MatMul_Q4", domain="com.microsoft",
            K=columns, N=rows, bits=bits, block_size=block,
        )  # fmt: skip
        graph = onnx.helper.make_graph(
            [node], "g",
            [onnx.helper.make_tensor_value_info("A", onnx.TensorProto.FLOAT, [columns, columns])],
            [onnx.helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, [columns, rows])],
            [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
        )  # fmt: skip
        made = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)],
            ir_version=10,
        )  # fmt: skip
        folder = tmp_path / f"{bits}{zero_points}"
        folder.mkdir()
        onnx.save(made, folder / "model.onnx")
        decoder = {"head_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1}
        (folder / "genai_config.json").write_text(json.dumps({"model": {"decoder": decoder}}))
        read = dense.weights(folder, "onnx-genai")["model.layers.0.mlp.up_proj.weight"]()
        session = runtime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        (computed,) = session.run(None, {"A": np.eye(columns, dtype=np.float32)})
        assert np.abs(read.T - computed).max() < 1e-4
