"""The embedding that reads the quantized head: the rewrite of the graph, on a model small enough to write down."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paredown.models import onnx_tied_embedding

pytestmark = pytest.mark.real
onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

ROWS, BLOCKS, BLOCK = 40, 3, 16
WIDTH = BLOCKS * BLOCK


def quantize(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    blocks = table.reshape(ROWS, BLOCKS, BLOCK)
    scales = (np.abs(blocks).max(-1) / 127).astype(np.float32)
    return (np.round(blocks / scales[..., None]) + 128).astype(np.uint8), scales


def write(where: Path, table: np.ndarray, quantized: np.ndarray, scales: np.ndarray, bits: int = 8) -> None:
    """Embedding → head, as the builder names and stores them; the embedding is an output as well."""
    helper, kinds = onnx.helper, onnx.TensorProto
    tensors = [
        onnx.numpy_helper.from_array(table, "model.embed_tokens.weight"),
        onnx.numpy_helper.from_array(quantized, "lm_head.MatMul.weight_Q8"),
        onnx.numpy_helper.from_array(scales, "lm_head.MatMul.weight_scales"),
    ]
    head = helper.make_node(
        "MatMulNBits", ["embedding", tensors[1].name, tensors[2].name], ["logits"], "/lm_head/MatMul_Q8",
        domain="com.microsoft", K=WIDTH, N=ROWS, bits=bits, block_size=BLOCK,
    )  # fmt: skip
    gather = helper.make_node("Gather", [tensors[0].name, "input_ids"], ["embedding"], "/model/embed_tokens/Gather")
    graph = helper.make_graph(
        [gather, head],
        "tiny",
        [helper.make_tensor_value_info("input_ids", kinds.INT64, ["b", "t"])],
        [
            helper.make_tensor_value_info("logits", kinds.FLOAT, ["b", "t", ROWS]),
            helper.make_tensor_value_info("embedding", kinds.FLOAT, ["b", "t", WIDTH]),
        ],
        tensors,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    onnx.save_model(
        model, str(where / "model.onnx"), save_as_external_data=True, location="model.onnx.data", size_threshold=0
    )


def embed(where: Path, ids: np.ndarray) -> np.ndarray:
    session = ort.InferenceSession(str(where / "model.onnx"), providers=["CPUExecutionProvider"])
    return session.run(["embedding"], {"input_ids": ids})[0]


@pytest.fixture
def table() -> np.ndarray:
    return np.random.default_rng(3).normal(0, 0.1, (ROWS, WIDTH)).astype(np.float32)


def test_the_embedding_becomes_the_dequantized_rows_of_the_head_exactly(tmp_path: Path, table: np.ndarray) -> None:
    quantized, scales = quantize(table)
    write(tmp_path, table, quantized, scales)
    done = onnx_tied_embedding.share(tmp_path)
    ids = np.array([[0, 39, 7], [7, 1, 2]], np.int64)
    expected = ((quantized.astype(np.float32) - 128) * scales[..., None]).reshape(ROWS, WIDTH)[ids]
    assert done.reason == ""
    assert np.array_equal(embed(tmp_path, ids), expected)


def test_the_wide_table_is_gone_from_the_disk(tmp_path: Path, table: np.ndarray) -> None:
    write(tmp_path, table, *quantize(table))
    before = (tmp_path / "model.onnx.data").stat().st_size
    done = onnx_tied_embedding.share(tmp_path)
    # Alignment of what stays may give back a few bytes.
    assert done.saved_bytes == before - (tmp_path / "model.onnx.data").stat().st_size
    assert done.saved_bytes >= table.nbytes - 256


def test_a_head_that_is_not_tied_is_left_with_the_reason(tmp_path: Path, table: np.ndarray) -> None:
    write(tmp_path, table, *quantize(table[::-1].copy()))
    ids = np.array([[0, 5]], np.int64)
    done = onnx_tied_embedding.share(tmp_path)
    assert "not tied" in done.reason
    assert np.array_equal(embed(tmp_path, ids), table[ids])


def test_a_single_row_that_differs_is_enough_to_leave_it(tmp_path: Path, table: np.ndarray) -> None:
    quantized, scales = quantize(table)
    quantized[11, 1, 4] ^= 8
    write(tmp_path, table, quantized, scales)
    assert "not tied" in onnx_tied_embedding.share(tmp_path).reason


def test_a_head_of_other_bits_is_left_with_the_reason(tmp_path: Path, table: np.ndarray) -> None:
    write(tmp_path, table, *quantize(table), bits=4)
    assert "4 bits" in onnx_tied_embedding.share(tmp_path).reason


def test_a_second_call_changes_nothing(tmp_path: Path, table: np.ndarray) -> None:
    write(tmp_path, table, *quantize(table))
    onnx_tied_embedding.share(tmp_path)
    before = (tmp_path / "model.onnx.data").read_bytes()
    assert onnx_tied_embedding.share(tmp_path).reason
    assert (tmp_path / "model.onnx.data").read_bytes() == before
