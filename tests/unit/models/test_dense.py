"""Weights read back from each format, against values that were packed by the format's own rules here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from paredown.errors import UserError
from paredown.models import dense

NAME = "model.layers.0.mlp.up_proj.weight"


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def test_plain_weights_are_read_as_they_are_also_in_bfloat16(tmp_path: Path) -> None:
    values = noise(4, 8)
    half = (values.view(np.uint32) >> 16).astype(np.uint16)
    header = {"a": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 64]}}
    text = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + half.tobytes())
    read = dense.weights(tmp_path, "hf")["a"]()
    assert read.dtype == np.float32
    assert np.array_equal(read, (half.astype(np.uint32) << 16).view(np.float32))
    assert np.abs(read - values).max() < 0.02


def test_eight_bits_of_bitsandbytes_are_codes_times_the_scale_of_their_row(tmp_path: Path) -> None:
    codes = np.array([[127, -64], [1, 0]], np.int8)
    scales = np.array([2.0, 254.0], np.float32)
    save_file({NAME: codes, NAME.removesuffix(".weight") + ".SCB": scales}, tmp_path / "model.safetensors")
    read = dense.weights(tmp_path, "bitsandbytes")[NAME]()
    assert read == pytest.approx(np.array([[2.0, -128 / 127], [2.0, 0.0]], np.float32))


def four_bits(state: dict[str, object], absmax: np.ndarray, **nested: np.ndarray) -> dict[str, np.ndarray]:
    """A 2 × 4 matrix with the codes 0 … 7 in blocks of 4."""
    return {
        NAME: np.array([[0x01], [0x23], [0x45], [0x67]], np.uint8),
        f"{NAME}.absmax": absmax,
        f"{NAME}.quant_map": np.arange(16, dtype=np.float32) / 10,
        f"{NAME}.quant_state.bitsandbytes__nf4": np.frombuffer(json.dumps(state).encode(), np.uint8).copy(),
    } | {f"{NAME}.{name}": values for name, values in nested.items()}


def test_four_bits_of_bitsandbytes_are_code_book_entries_times_the_scale_of_their_block(tmp_path: Path) -> None:
    state = {"blocksize": 4, "shape": [2, 4], "quant_type": "nf4", "dtype": "bfloat16"}
    save_file(four_bits(state, np.array([1.0, 10.0], np.float32)), tmp_path / "model.safetensors")
    found = dense.weights(tmp_path, "bitsandbytes")
    assert set(found) == {NAME}
    assert found[NAME]() == pytest.approx(np.array([[0.0, 0.1, 0.2, 0.3], [4.0, 5.0, 6.0, 7.0]], np.float32))


def test_scales_that_were_quantized_as_well_are_widened_first(tmp_path: Path) -> None:
    state = {"blocksize": 4, "shape": [2, 4], "quant_type": "nf4", "nested_blocksize": 1, "nested_offset": 0.5}
    tensors = four_bits(
        state,
        np.array([2, 0], np.uint8),
        nested_quant_map=np.array([0.0, 0.1, 0.25], np.float32),
        nested_absmax=np.array([2.0, 3.0], np.float32),
    )
    save_file(tensors, tmp_path / "model.safetensors")
    read = dense.weights(tmp_path, "bitsandbytes")[NAME]()
    # 0.25 · 2 + 0.5 = 1 for the first block, 0 · 3 + 0.5 for the second
    assert read == pytest.approx(np.array([[0.0, 0.1, 0.2, 0.3], [0.2, 0.25, 0.3, 0.35]], np.float32))


def test_quantized_weights_without_their_scales_are_refused_with_the_name(tmp_path: Path) -> None:
    tensors = four_bits({"blocksize": 4, "shape": [2, 4]}, np.array([1.0, 1.0], np.float32))
    del tensors[f"{NAME}.absmax"]
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match="absmax"):
        dense.weights(tmp_path, "bitsandbytes")[NAME]()


def openvino(directory: Path, constants: list[tuple[str, str, str, bytes]]) -> Path:
    """A model of constants alone: (name, element type, shape, data)."""
    data, layers = b"", []
    for number, (name, kind, shape, raw) in enumerate(constants):
        layers.append(
            f'<layer id="{number}" name="{name}" type="Const"><data element_type="{kind}" shape="{shape}" '
            f'offset="{len(data)}" size="{len(raw)}"/></layer>'
        )
        data += raw
    (directory / "openvino_model.xml").write_text(f"<net><layers>{''.join(layers)}</layers></net>")
    (directory / "openvino_model.bin").write_bytes(data)
    return directory


def test_four_bits_of_openvino_are_value_minus_zero_point_times_scale_of_their_group(tmp_path: Path) -> None:
    stored = f"self.{NAME.removesuffix('.weight')}._openvino_orig_weight"
    openvino(
        tmp_path,
        [
            (stored, "u4", "1,2,4", bytes([0x10, 0x32, 0x54, 0x76])),
            (f"{stored}/zero_point", "u4", "1,2,1", bytes([0x41])),
            (f"{stored}/scale", "f16", "1,2,1", np.array([1.0, 0.5], np.float16).tobytes()),
        ],
    )
    read = dense.weights(tmp_path, "openvino")[NAME]()
    assert read.tolist() == [[-1.0, 0.0, 1.0, 2.0, 0.0, 0.5, 1.0, 1.5]]


def test_signed_four_bits_and_eight_bits_and_plain_constants_of_openvino(tmp_path: Path) -> None:
    openvino(
        tmp_path,
        [
            ("self.a.weight", "i4", "1,4", bytes([0xF8, 0x70])),
            ("self.b.weight", "u8", "1,2", bytes([5, 6])),
            ("self.b.weight/zero_point", "u8", "1,1", bytes([4])),
            ("self.b.weight/scale", "f16", "1,1", np.array([2.0], np.float16).tobytes()),
            ("self.c.weight", "f16", "1,2", np.array([0.5, -3.0], np.float16).tobytes()),
            ("__module.rotary/Constant", "f32", "1", np.float32(1).tobytes()),
        ],
    )
    found = {name: read().tolist() for name, read in dense.weights(tmp_path, "openvino").items()}
    assert found == {
        "a.weight": [[-8.0, -1.0, 0.0, 7.0]],
        "b.weight": [[2.0, 4.0]],
        "c.weight": [[0.5, -3.0]],
    }


def test_a_format_that_cannot_be_read_back_says_which_can(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"'fake' cannot be read back \(those of bitsandbytes, hf, onnx-genai, openvino"
    ):
        dense.weights(tmp_path, "fake")
