"""JSONL: a row a line, and a place for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.loaders.jsonl import LOADER


def write(folder: Path, data: bytes) -> str:
    path = folder / "my.jsonl"
    path.write_bytes(data)
    return str(path)


def test_each_line_is_a_row_with_its_place(tmp_path: Path) -> None:
    source = write(tmp_path, '\ufeff{"prompt": "é"}\r\n\n{"prompt": "\u2028"}'.encode())
    rows = list(LOADER.load(source))
    assert [row.fields["prompt"] for row in rows] == ["é", "\u2028"]
    assert [row.where for row in rows] == [f"{source}:1", f"{source}:3"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"prompt": "x"', "not valid JSON"),
        (b'["x"]', "expected a JSON object"),
        (b'{"prompt": "\xff"}', "byte 13 is not UTF-8"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_a_malformed_line_is_refused_with_its_place(tmp_path: Path, line: bytes, says: str) -> None:
    source = write(tmp_path, b'{"prompt": "fine"}\n' + line + b"\n")
    with pytest.raises(UserError, match=says) as caught:
        list(LOADER.load(source))
    assert str(caught.value).startswith(f"{source}:2: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        list(LOADER.load(str(tmp_path / "none.jsonl")))


def test_it_claims_its_suffixes_only() -> None:
    assert LOADER.claims("a/b.JSONL")
    assert not LOADER.claims("a.json.csv")
