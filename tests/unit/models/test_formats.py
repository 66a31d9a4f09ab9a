"""ONNX and OpenVINO files: constants by size, each once, told apart by the operators that read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paredown.errors import UserError
from paredown.models import formats
from paredown.models.weights import StoredTensor, grouped
from paredown.testing import fake_models
from paredown.testing.checkpoints import LLAMA, write_checkpoint

LAYERS = """
<layer id="0" name="embed" type="Const"><data element_type="u8" shape="32, 16" offset="0" size="512"/></layer>
<layer id="1" name="embed/scale" type="Const"><data element_type="f16" shape="32, 1" offset="512" size="64"/></layer>
<layer id="2" name="convert" type="Convert"/>
<layer id="3" name="multiply" type="Multiply"/>
<layer id="4" name="gather" type="Gather"/>
<layer id="5" name="q_proj" type="Const"><data element_type="u4" shape="16, 2, 8" offset="576" size="128"/></layer>
<layer id="6" name="q_proj/zero" type="Const"><data element_type="u4" shape="16, 2, 1" offset="704" size="16"/></layer>
<layer id="7" name="convert" type="Convert"/>
<layer id="8" name="zero convert" type="Convert"/>
<layer id="9" name="subtract" type="Subtract"/>
<layer id="10" name="reshape" type="Reshape"/>
<layer id="11" name="shape" type="Const"><data element_type="i64" shape="2" offset="720" size="16"/></layer>
<layer id="12" name="block/matmul" type="MatMul"/>
<layer id="13" name="tied head" type="MatMul"/>
<layer id="14" name="norm" type="Const"><data element_type="f32" shape="1, 1, 16" offset="736" size="64"/></layer>
<layer id="15" name="norm again" type="Const"><data element_type="f32" shape="1, 1, 16" offset="736" size="64"/></layer>
<layer id="16" name="activation" type="Parameter"/>
"""
EDGES = [
    (0, 2, 0), (2, 3, 0), (1, 3, 1), (3, 4, 0),
    (5, 7, 0), (7, 9, 0), (6, 8, 0), (8, 9, 1), (9, 10, 0), (11, 10, 1), (16, 12, 0), (10, 12, 1),
    (16, 13, 0), (3, 13, 1),
]  # fmt: skip


@pytest.fixture
def openvino(tmp_path: Path) -> Path:
    edges = "".join(
        f'<edge from-layer="{source}" from-port="0" to-layer="{target}" to-port="{port}"/>'
        for source, target, port in EDGES
    )
    text = f"<net><layers>{LAYERS}</layers><edges>{edges}</edges></net>"
    (tmp_path / "openvino_model.xml").write_text(text)
    (tmp_path / "openvino_model.bin").write_bytes(bytes(800))
    return tmp_path


def by_name(directory: Path) -> dict[str, StoredTensor]:
    return {tensor.name: tensor for tensor in formats.load(formats.detect(directory)).read(directory)}


def test_openvino_constants_are_told_apart_by_their_readers(openvino: Path) -> None:
    kinds = {name: tensor.kind for name, tensor in by_name(openvino).items()}

    assert kinds == {
        "embed": "embedding",
        "embed/scale": "scale",
        "q_proj": "matrix",
        "q_proj/zero": "scale",
        "norm": "other",
    }


def test_openvino_packed_weights_have_their_real_bits(openvino: Path) -> None:
    matrix = by_name(openvino)["q_proj"]

    assert (matrix.dtype, matrix.elements, matrix.bits) == ("U4", 256, 4.0)


def test_openvino_shapes_are_no_weights_and_shared_constants_count_once(openvino: Path) -> None:
    assert sum(tensor.size_bytes for tensor in by_name(openvino).values()) == 512 + 64 + 128 + 16 + 64


def test_a_truncated_openvino_model_is_refused(openvino: Path) -> None:
    (openvino / "openvino_model.bin").write_bytes(bytes(700))

    with pytest.raises(UserError, match=r"openvino_model\.bin is missing or too short"):
        by_name(openvino)


def test_an_openvino_graph_that_is_no_xml_is_refused(openvino: Path) -> None:
    (openvino / "openvino_model.xml").write_text("<net><layers>")

    with pytest.raises(UserError, match="cannot be read"):
        by_name(openvino)


# ── ONNX ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def external(onnx: Any, name: str, dtype: int, shape: tuple[int, ...], offset: int, length: int) -> Any:
    tensor = onnx.TensorProto(name=name, data_type=dtype, dims=shape, data_location=onnx.TensorProto.EXTERNAL)
    for key, value in (("location", "model.onnx.data"), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.fixture
def onnx_model(tmp_path: Path) -> Path:
    onnx = pytest.importorskip("onnx")
    node, kinds = onnx.helper.make_node, onnx.TensorProto
    initializers = [
        external(onnx, "head_Q4", kinds.UINT8, (32, 2, 4), 0, 256),
        external(onnx, "head_scales", kinds.FLOAT, (32, 2), 256, 256),
        external(onnx, "q_Q4", kinds.UINT8, (16, 2, 4), 512, 128),
        external(onnx, "q_scales", kinds.FLOAT, (16, 2), 640, 128),
        external(onnx, "v", kinds.FLOAT16, (16, 16), 768, 512),
        external(onnx, "norm", kinds.FLOAT, (16,), 1280, 64),
        external(onnx, "norm_again", kinds.FLOAT, (16,), 1280, 64),
        onnx.helper.make_tensor("shape", kinds.INT64, (2,), [32, 8]),
    ]
    bits = {"domain": "com.microsoft", "bits": 4, "block_size": 8}
    nodes = [
        node("Reshape", ["head_Q4", "shape"], ["flat"]),
        node("GatherBlockQuantized", ["flat", "ids", "head_scales"], ["x"], **bits),
        node("MatMulNBits", ["x", "q_Q4", "q_scales"], ["y"], name="/layers.0/q/MatMul_Q4", K=16, N=16, **bits),
        node("Gather", ["head_scales", "ids"], ["scale of the row"]),
        node("MatMul", ["y", "v"], ["z"], name="/layers.0/v/MatMul"),
        node("MatMulNBits", ["z", "head_Q4", "head_scales"], ["logits"], name="/lm_head/MatMul_Q4", K=16, N=32, **bits),
    ]
    graph = onnx.helper.make_graph(nodes, "g", [], [], initializers)
    (tmp_path / "model.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    (tmp_path / "model.onnx.data").write_bytes(bytes(1344))
    (tmp_path / "genai_config.json").write_text(json.dumps({"model": {"decoder": {"filename": "model.onnx"}}}))
    return tmp_path


def test_onnx_initializers_are_told_apart_by_their_readers(onnx_model: Path) -> None:
    kinds = {name: tensor.kind for name, tensor in by_name(onnx_model).items()}

    assert kinds == {
        "head_Q4": "embedding",
        "head_scales": "scale",
        "q_Q4": "matrix",
        "q_scales": "scale",
        "v": "matrix",
        "norm": "other",
    }


def test_onnx_packed_matrices_have_the_bits_and_size_of_their_operator(onnx_model: Path) -> None:
    tensors = by_name(onnx_model)

    assert (tensors["q_Q4"].dtype, tensors["q_Q4"].elements, tensors["q_Q4"].bits) == ("UINT4", 256, 4.0)
    assert tensors["v"].bits == 16.0
    assert tensors["head_Q4"].elements == 16 * 32


def test_onnx_data_are_counted_once_and_in_full(onnx_model: Path) -> None:
    assert sum(group.size_bytes for group in grouped(by_name(onnx_model).values())) == 1344


def test_truncated_onnx_data_are_refused(onnx_model: Path) -> None:
    (onnx_model / "model.onnx.data").write_bytes(bytes(1000))

    with pytest.raises(UserError, match="too short for 'v'"):
        by_name(onnx_model)


@pytest.mark.parametrize("content", [b"\xff\xff\xff\xff", b"not a model at all"])
def test_a_damaged_onnx_graph_is_refused(onnx_model: Path, content: bytes) -> None:
    (onnx_model / "model.onnx").write_bytes(content)

    with pytest.raises(UserError, match=r"model\.onnx"):
        by_name(onnx_model)


# ── which format is it? ──────────────────────────────────────────────────────────────────────────────────────────


def test_each_directory_is_recognised_by_one_format_only(tmp_path: Path, openvino: Path) -> None:
    bnb = {**LLAMA, "quantization_config": {"quant_method": "bitsandbytes"}}
    made = {
        "hf": write_checkpoint(tmp_path / "hf"),
        "bitsandbytes": write_checkpoint(tmp_path / "bnb", config=bnb),
        "fake": fake_models.make(tmp_path / "fake"),
        "openvino": openvino,
    }

    for name, directory in made.items():
        assert [n for n in formats.names() if formats.load(n).recognises(directory)] == [name]


def test_an_export_beside_a_configuration_is_not_taken_for_a_checkpoint(openvino: Path) -> None:
    (openvino / "config.json").write_text(json.dumps(LLAMA))

    assert formats.detect(openvino) == "openvino"
