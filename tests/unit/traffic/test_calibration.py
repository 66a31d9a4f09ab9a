"""Calibration data are read from every form that they come in; what is wrong is one sentence with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.records.traffic import Message
from paredown.traffic import calibration


def write(directory: Path, *lines: object, name: str = "c.jsonl") -> str:
    path = directory / name
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


def test_texts_and_conversations_of_jsonl(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    source = write(
        tmp_path, "plain", {"text": "in a field"}, {"messages": turns}, {"prompt": "Why?", "response": "So."}
    )
    read = calibration.read(source).samples
    assert [one.text for one in read] == ["plain", "in a field", "", ""]
    assert read[2].messages == (Message("user", "Hi"), Message("assistant", "Hello"))
    assert read[3].messages == (Message("user", "Why?"), Message("assistant", "So."))
    assert [one.where for one in read] == [f"{source}:{n}" for n in (1, 2, 3, 4)]
    assert read[3].content == "Why?\nSo."


def test_logged_requests_are_read_as_the_traffic_reads_them(tmp_path: Path) -> None:
    line = {"request": json.dumps({"messages": [{"role": "user", "content": "Hi"}]}), "completion": "Hello"}
    read = calibration.read(write(tmp_path, line))
    assert read.samples[0].messages == (Message("user", "Hi"), Message("assistant", "Hello"))
    assert read.conversations == 1


def test_a_plain_text_is_cut_at_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("\nfirst\nstill first\n\n  \nsecond\n", encoding="utf-8")
    read = calibration.read(str(path)).samples
    assert [(one.text, one.where) for one in read] == [("first\nstill first", f"{path}:2"), ("second", f"{path}:6")]


def test_the_digest_is_of_what_is_said_not_of_where_it_lies(tmp_path: Path) -> None:
    first = calibration.read(write(tmp_path, "a", "b"))
    again = calibration.read(write(tmp_path, {"text": "a"}, "b", name="d.jsonl"))
    assert first.digest == again.digest
    assert first.digest != calibration.read(write(tmp_path, "a", "c", name="e.jsonl")).digest


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "bad.jsonl:2 is not JSON"),
        ('{"txt": "a"}', "bad.jsonl:2 has none of the fields"),
        ('{"text": 5}', "bad.jsonl:2, text is no text but 5"),
        ('{"messages": [{"role": "user"}]}', r"bad.jsonl:2, messages\[0\].content is no text but missing"),
        ("7", "bad.jsonl:2 is no mapping but 7"),
    ],
)
def test_a_line_that_holds_no_text_is_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(f'"good"\n{line}\n', encoding="utf-8")
    with pytest.raises(UserError, match=says):
        calibration.read(str(path))


def test_files_that_cannot_be_used_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="does not exist"):
        calibration.read(str(tmp_path / "none.txt"))
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(UserError, match="holds no text"):
        calibration.read(str(tmp_path / "empty.txt"))
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(UserError, match="is not UTF-8"):
        calibration.read(str(tmp_path / "latin.txt"))
    monkeypatch.setattr(calibration, "LARGEST_BYTES", 3)
    with pytest.raises(UserError, match=r"head -n 2000 latin\.txt"):
        calibration.read(str(tmp_path / "latin.txt"))
