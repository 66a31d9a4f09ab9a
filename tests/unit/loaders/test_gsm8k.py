"""GSM8K: the number behind the mark is the answer, and a wrong line has a place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.evaluate import golden
from paredown.loaders.csv_table import LOADER as CSV_TABLE
from paredown.loaders.gsm8k import LOADER
from paredown.loaders.jsonl import LOADER as JSONL

FINE = {"question": "Two cats and two dogs?", "answer": "2 + 2 = <<2+2=4>>4\n#### 4"}


def write(folder: Path, *rows: object, name: str = "test.jsonl") -> str:
    (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return f"gsm8k:{folder / name}"


@pytest.mark.parametrize(
    ("written", "answer"), [("#### 4", "4"), ("#### -1,234,500", "-1234500"), ("#### 1 #### 7", "7")]
)
def test_the_number_behind_the_last_mark_is_the_answer(tmp_path: Path, written: str, answer: str) -> None:
    (item,) = golden.load([write(tmp_path, {"question": "How many?", "answer": f"So 3.\n{written}"})]).items
    assert (item.answer, item.scorer, item.slice) == (answer, "number", "reasoning")
    assert [message.content for message in item.messages] == ["How many?"]
    assert item.max_tokens > 300


def test_ids_follow_the_question_and_not_the_file_or_the_order(tmp_path: Path) -> None:
    other = {"question": "Three?", "answer": "#### 3"}
    first = {row.fields["id"] for row in LOADER.load(write(tmp_path, FINE, other))}
    second = {row.fields["id"] for row in LOADER.load(write(tmp_path, other, FINE, name="other.jsonl"))}
    assert first == second
    assert len(first) == 2


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"question": "x"}, "field 'answer' is missing"),
        ({"question": 5, "answer": "#### 4"}, "field 'question' is 5; expected a text"),
        ({"question": "  ", "answer": "#### 4"}, "field 'question'"),
        ({"question": "x", "answer": "4"}, "field 'answer' is \"4\"; expected a text that ends in '####'"),
        ({"question": "x", "answer": "#### 1,23"}, "field 'answer'"),
        ({"question": "x", "answer": "#### four"}, "field 'answer'"),
        (["x"], "expected a JSON object"),
    ],
)
def test_a_wrong_line_is_refused_with_place_and_field(tmp_path: Path, row: object, says: str) -> None:
    source = write(tmp_path, FINE, row)
    with pytest.raises(UserError, match=says) as caught:
        list(LOADER.load(source))
    assert str(caught.value).startswith(f"{source.removeprefix('gsm8k:')}:2: ")


@pytest.mark.parametrize(
    ("data", "says"),
    [(b'{"question": "\xe9"}', ":1: byte 15 is not UTF-8"), (b"\n{\n", ":2: not valid JSON")],
)
def test_bytes_that_are_no_json_lines_are_refused_with_their_line(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "bad.jsonl").write_bytes(data)
    with pytest.raises(UserError, match=says):
        list(LOADER.load(f"gsm8k:{tmp_path}/bad.jsonl"))


@pytest.mark.parametrize(("path", "says"), [("", "Write gsm8k:PATH"), ("/no/such.jsonl", "No such file")])
def test_a_source_without_a_file_is_one_sentence(path: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        list(LOADER.load(f"gsm8k:{path}"))


def test_a_source_with_a_name_before_it_is_left_to_the_loader_of_that_name() -> None:
    assert not JSONL.claims("gsm8k:test.jsonl")
    assert not CSV_TABLE.claims("xstest:my.csv")
    assert not JSONL.claims("gms8k:test.jsonl")
    assert JSONL.claims("C:\\my\\test.jsonl")
    assert JSONL.claims("./notes:1.jsonl")
    assert CSV_TABLE.claims("/data/a:b.csv")
