"""Headers of safetensors files, and every way in which such a file can be broken."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.models import safetensors_header
from paredown.testing.checkpoints import write_safetensors

SHAPES = {"a": ("BF16", (4, 8)), "b": ("F32", (3,)), "empty": ("F32", (0,))}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_safetensors(tmp_path / "model.safetensors", SHAPES)


def test_names_types_shapes_and_sizes_are_read(file: Path) -> None:
    first, second, third = safetensors_header.read(file)

    assert (first.name, first.dtype, first.shape, first.size_bytes) == ("a", "BF16", (4, 8), 64)
    assert (second.elements, second.size_bytes) == (3, 12)
    assert second.offset == first.offset + 64
    assert third.elements == 0


def test_it_agrees_with_the_library_that_defines_the_format(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    from safetensors.numpy import save_file

    save_file({"x": numpy.ones((2, 3), "float32"), "y": numpy.zeros(5, "int64")}, tmp_path / "theirs.safetensors")

    found = {e.name: (e.dtype, e.shape, e.size_bytes) for e in safetensors_header.read(tmp_path / "theirs.safetensors")}

    assert found == {"x": ("F32", (2, 3), 24), "y": ("I64", (5,), 40)}


def test_a_truncated_file_says_how_much_is_missing(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])

    with pytest.raises(UserError, match=r"10 of its .* bytes are missing at the end"):
        safetensors_header.read(file)


def test_bytes_that_belong_to_no_tensor_are_damage(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"xyz")

    with pytest.raises(UserError, match="3 bytes that belong to no tensor"):
        safetensors_header.read(file)


@pytest.mark.parametrize(
    "content", [b"", b"\x01\x02", struct.pack("<Q", 2**60) + b"{}", struct.pack("<Q", 5) + b"{nope"]
)
def test_a_file_without_a_valid_header_is_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)

    with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
        safetensors_header.read(path)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}, "has shape"),
        ({"dtype": "Q9", "shape": [1], "data_offsets": [0, 1]}, "unknown data type"),
        ({"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}, "begin at byte"),
        ({"dtype": "F32", "shape": [1]}, "data_offsets"),
    ],
)
def test_an_entry_that_contradicts_itself_is_named(tmp_path: Path, entry: object, reason: str) -> None:
    text = json.dumps({"w": entry}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))

    with pytest.raises(UserError, match=reason):
        safetensors_header.read(path)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "one.safetensors", SHAPES)
    index = {"weight_map": {"a": "one.safetensors", "c": "two.safetensors"}}
    (tmp_path / safetensors_header.INDEX).write_text(json.dumps(index))

    with pytest.raises(UserError, match=r"lacks 1 of its 2 weight files, first 'two\.safetensors'"):
        safetensors_header.files(tmp_path)


def test_files_outside_the_index_are_not_weights(tmp_path: Path) -> None:
    for name in ("one", "stray"):
        write_safetensors(tmp_path / f"{name}.safetensors", SHAPES)
    (tmp_path / safetensors_header.INDEX).write_text(json.dumps({"weight_map": {"a": "one.safetensors"}}))

    assert [path.name for path in safetensors_header.files(tmp_path)] == ["one.safetensors"]
