"""Damaged weights are named by their place: blocks, rows of tables, a head of its own."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paredown.evaluate import weight_changes

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
DTYPES = {np.dtype("<f4"): "F32", np.dtype("<f2"): "F16", np.dtype("i1"): "I8"}


def save(folder: Path, tensors: dict[str, Any]) -> Path:
    folder.mkdir()
    header, data = {}, b""
    for name, values in tensors.items():
        ends = [len(data), len(data) + values.nbytes]
        header[name] = {"dtype": DTYPES[values.dtype], "shape": list(values.shape), "data_offsets": ends}
        data += values.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "byte_tokenizer.json").write_text("{}")
    return folder


@pytest.fixture
def tensors() -> dict[str, Any]:
    random = np.random.default_rng(0)
    made = {f"model.layers.{n}.mlp.{name}.weight": random.normal(size=(6, 4)) for n in range(3) for name in "ab"}
    made |= {EMBEDDING: random.normal(size=(260, 4)), "model.norm.weight": random.normal(size=4)}
    return {name: values.astype("<f4") for name, values in made.items()}


def said(tmp_path: Path, before: dict[str, Any], after: dict[str, Any]) -> str:
    return " ".join(weight_changes.sentences(save(tmp_path / "a", before), save(tmp_path / "b", after)))


def test_a_block_times_a_factor_is_named_with_the_factor(tmp_path: Path, tensors: dict[str, Any]) -> None:
    scaled = {name: values * np.float32(1.5) for name, values in tensors.items() if ".layers.1." in name}
    text = said(tmp_path, tensors, tensors | scaled)
    assert "block 1 (2 of 2 tensors, times 1.5); everything else (4 of 5 parts) is equal bit for bit" in text


def test_damaged_rows_are_named_by_their_tokens(tmp_path: Path, tensors: dict[str, Any]) -> None:
    table = tensors[EMBEDDING].copy()
    table[[65, 66]] = table[[66, 65]]
    text = said(tmp_path, tensors, tensors | {EMBEDDING: table})
    assert "the embedding: 2 of 260 rows (tokens such as 'A', 'B'), changed by" in text


def test_a_head_of_its_own_is_compared_with_the_embedding_that_it_was(tmp_path: Path, tensors: dict[str, Any]) -> None:
    head = tensors[EMBEDDING].copy()
    head[90] = 0
    assert "the head: 1 of 260 rows (token 90, 'Z'), times 0;" in said(tmp_path, tensors, tensors | {HEAD: head})


def test_small_changes_everywhere_name_the_most_changed_first(tmp_path: Path, tensors: dict[str, Any]) -> None:
    random = np.random.default_rng(1)
    moved = {name: values + random.normal(size=values.shape).astype("<f4") / 50 for name, values in tensors.items()}
    moved["model.layers.2.mlp.a.weight"] = tensors["model.layers.2.mlp.a.weight"][::-1].copy()
    text = said(tmp_path, tensors, moved)
    assert text.index("block 2 (2 of 2 tensors, changed by") < text.index("block 0 (2 of 2")
    assert "equal bit for bit" not in text


def test_the_same_values_in_another_type_are_equal(tmp_path: Path, tensors: dict[str, Any]) -> None:
    half = {name: values.astype("<f2") for name, values in tensors.items()}
    wide = {name: values.astype("<f4") for name, values in half.items()}
    assert said(tmp_path, half, wide).startswith("Every weight is equal to the baseline's")


def test_packed_weights_are_not_compared(tmp_path: Path, tensors: dict[str, Any]) -> None:
    assert said(tmp_path, tensors, {name: values.astype("i1") for name, values in tensors.items()}) == ""
