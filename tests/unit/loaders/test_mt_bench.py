"""MT-Bench: the first turn is asked and graded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.evaluate import rows
from paredown.loaders.mt_bench import LOADER

FINE = {"question_id": 7, "category": "writing", "turns": ["Write a line.", "Shorter."]}


def write(folder: Path, row: object) -> str:
    (folder / "my.jsonl").write_text(json.dumps(row))
    return f"mt_bench:{folder}/my.jsonl"


@pytest.mark.parametrize(
    ("reference", "arguments"),
    [
        ({}, {}),
        ({"reference": ["A line.", "Line."]}, {"reference": "A line."}),
        ({"reference": ["", "Only for the second turn."]}, {}),
    ],
)
def test_the_first_turn_is_graded_beside_the_published_notes(
    tmp_path: Path, reference: dict[str, object], arguments: dict[str, str]
) -> None:
    (row,) = LOADER.load(write(tmp_path, {**FINE, **reference}))
    assert (row.fields["id"], row.fields["prompt"], row.fields["answer"]) == ("mt_bench/7", "Write a line.", "")
    assert row.fields["tags"] == {"benchmark": "mt_bench", "category": "writing"}
    assert (rows.parse(row).scorer, rows.parse(row).arguments) == ("judge", arguments)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question_id", "7"),
        ("question_id", True),
        ("turns", []),
        ("turns", ["a", 1]),
        ("reference", "x"),
        ("category", 1),
    ],
)
def test_a_wrong_field_is_refused_with_its_place(tmp_path: Path, field: str, value: object) -> None:
    with pytest.raises(UserError, match=f"my.jsonl:1: field '{field}' is "):
        list(LOADER.load(write(tmp_path, {**FINE, field: value})))
