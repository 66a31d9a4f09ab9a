"""HumanEval: every line is an item with its tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.evaluate import rows
from paredown.loaders.humaneval import LOADER

FINE = {
    "task_id": "HumanEval/7",
    "prompt": "def double(n):\n",
    "entry_point": "double",
    "canonical_solution": "    return 2 * n\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}
PACKED = gzip.compress(json.dumps(FINE).encode())


@pytest.mark.parametrize("name", ["my.jsonl.gz", "my.jsonl"])
def test_a_line_becomes_an_item_with_its_tests_packed_or_not(tmp_path: Path, name: str) -> None:
    data = json.dumps(FINE).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (row,) = LOADER.load(f"humaneval:{tmp_path / name}")
    assert (row.fields["id"], row.fields["slice"], row.fields["scorer"]) == ("humaneval/7", "code", "code")
    assert row.fields["arguments"] == {"prompt": FINE["prompt"], "test": FINE["test"], "entry_point": "double"}
    assert str(row.fields["prompt"]).endswith(FINE["prompt"])
    assert rows.parse(row).answer == FINE["canonical_solution"]


@pytest.mark.parametrize("field", sorted(FINE))
def test_a_missing_field_is_refused_with_its_place(tmp_path: Path, field: str) -> None:
    row = {name: value for name, value in FINE.items() if name != field}
    (tmp_path / "my.jsonl").write_text(json.dumps(row))
    with pytest.raises(UserError, match=f"my.jsonl:1: field '{field}' is missing"):
        list(LOADER.load(f"humaneval:{tmp_path}/my.jsonl"))


@pytest.mark.parametrize("data", [b"plain", PACKED[:-9], PACKED[:10] + b"\xff" * 9 + PACKED[19:]])
def test_a_damaged_packed_file_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "my.jsonl.gz").write_bytes(data)
    with pytest.raises(UserError, match=r"Cannot read .*my.jsonl.gz"):
        list(LOADER.load(f"humaneval:{tmp_path}/my.jsonl.gz"))
