"""MT-Bench: refused while nothing can judge it; then the first turn is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paredown import registry
from paredown.errors import UserError
from paredown.loaders.mt_bench import LOADER

FINE = {"question_id": 7, "category": "writing", "turns": ["Write a line.", "Shorter."]}


@pytest.fixture
def with_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "names", lambda kind: ("judge",))


def write(folder: Path, row: object) -> str:
    (folder / "my.jsonl").write_text(json.dumps(row))
    return f"mt_bench:{folder}/my.jsonl"


def test_it_is_refused_in_one_sentence_while_there_is_no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "names", lambda kind: ("number",))
    with pytest.raises(UserError, match=r"MT-Bench cannot be judged: .*there is no scorer 'judge'"):
        list(LOADER.load("mt_bench:any.jsonl"))


@pytest.mark.usefixtures("with_scorer")
@pytest.mark.parametrize(("reference", "answer"), [({}, ""), ({"reference": ["A line.", "Line."]}, "A line.")])
def test_the_first_turn_is_asked_and_its_reference_is_the_answer(
    tmp_path: Path, reference: dict[str, object], answer: str
) -> None:
    (row,) = LOADER.load(write(tmp_path, {**FINE, **reference}))
    assert (row.fields["id"], row.fields["prompt"], row.fields["answer"]) == ("mt_bench/7", "Write a line.", answer)
    assert row.fields["tags"] == {"benchmark": "mt_bench", "category": "writing"}
    assert row.fields["arguments"] == {"turns": FINE["turns"]}


@pytest.mark.usefixtures("with_scorer")
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
