"""CSV and TSV: cells become fields by the header."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.loaders.csv_table import LOADER


def write(folder: Path, text: str, name: str = "my.csv", encoding: str = "utf-8") -> str:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_cells_become_fields_and_empty_cells_are_not_given(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        "\ufeffprompt,choices,answer,max_tokens,zero_tolerance,arguments\n"
        '"one, ""two""\nthree",a | b,b,,TRUE,"{""normalize"": ""bytes""}"\n'
        "\n"
        'x,"[""a|b"", ""c""]",c,5,,\n',
    )
    first, second = LOADER.load(source)
    assert first.fields == {
        "prompt": 'one, "two"\nthree',
        "choices": ["a", "b"],
        "answer": "b",
        "zero_tolerance": True,
        "arguments": {"normalize": "bytes"},
    }
    assert second.fields == {"prompt": "x", "choices": ["a|b", "c"], "answer": "c", "max_tokens": 5}
    assert (first.where, second.where) == (f"{source}:2", f"{source}:5")


def test_tabs_separate_the_cells_of_tsv(tmp_path: Path) -> None:
    (row,) = LOADER.load(write(tmp_path, "prompt\tanswer\na,b\tc\n", "my.tsv"))
    assert row.fields == {"prompt": "a,b", "answer": "c"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prompt,answer\nx\n", ":2: 1 cells; expected 2"),
        ("prompt,prompt\nx,y\n", ":1: the header"),
        ("prompt,\nx,y\n", ":1: the header"),
        ("prompt,max_tokens\nx,many\n", ":2: field 'max_tokens' is 'many'"),
        ("prompt,max_tokens\nx,²\n", ":2: field 'max_tokens'"),
        ("prompt,zero_tolerance\nx,yes\n", ":2: field 'zero_tolerance' is 'yes'"),
        ("prompt,arguments\nx,{\n", ":2: field 'arguments' is not JSON"),
        ('prompt,answer\nx,"open\n', "not valid CSV"),
    ],
)
def test_a_malformed_line_is_refused_with_place_and_field(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        list(LOADER.load(write(tmp_path, text)))


def test_another_encoding_is_refused_with_the_line(tmp_path: Path) -> None:
    source = write(tmp_path, "prompt,answer\nx,y\né,z\n", encoding="latin-1")
    with pytest.raises(UserError, match=":3: not UTF-8"):
        list(LOADER.load(source))
