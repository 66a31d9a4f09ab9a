"""MGSM: question, tab, answer; the language comes from the file's name or the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.evaluate import golden
from paredown.loaders.mgsm import LOADER
from paredown.records.golden import Answer
from paredown.scorers.number import SCORER as NUMBER


def write(folder: Path, text: str, name: str = "mgsm_de.tsv") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_each_line_is_an_item_with_its_language_and_the_right_number(tmp_path: Path) -> None:
    path = write(tmp_path, 'Wie "viele"?\t2,125\r\n\nUnd nun?\t-7\n')
    first, second = golden.load([f"mgsm:{path}"]).items
    assert (first.slice, first.scorer, first.answer, first.tags["language"]) == ("multilingual", "number", "2125", "de")
    assert (first.messages[0].content, first.where) == ('Wie "viele"?', f"{path}:1")
    assert (second.id, second.answer, second.where) == ("mgsm/de/3", "-7", f"{path}:3")


def test_a_problem_and_its_translations_never_choose_and_confirm(tmp_path: Path) -> None:
    lines = [f"How many are {n} and one?" for n in range(1, 301)]
    gsm8k = tmp_path / "test.jsonl"
    gsm8k.write_text("".join(f'{{"question": "{text}", "answer": "#### {n}"}}\n' for n, text in enumerate(lines)))
    english = write(tmp_path, "".join(f"{text}\t{n}\n" for n, text in enumerate(lines[:250])), "mgsm_en.tsv")
    german = write(tmp_path, "".join(f"Wie viel ist {n}?\t{n}\n" for n in range(250)), "mgsm_de.tsv")
    found = golden.load([f"gsm8k:{gsm8k}", f"mgsm:{english}", f"mgsm:{german}"])
    parts = golden.split(found, seed=3)
    texts = [{item.messages[0].content for item in part.items} for part in parts]
    assert not texts[0] & texts[1]
    assert not {item.cluster for item in parts.screening.items} & {
        item.cluster for item in parts.confirmation.items if item.cluster
    }
    assert sum(item.cluster == "" for item in found.items) == 50


@pytest.mark.parametrize(
    ("name", "given", "language"),
    [("mgsm_sw.tsv", "", "sw"), ("mgsm-fr.tsv", "", "fr"), ("zh.tsv", "", "zh"), ("my data.tsv", "th:", "th")],
)
def test_the_language_is_that_of_the_name_or_of_the_source(
    tmp_path: Path, name: str, given: str, language: str
) -> None:
    path = write(tmp_path, "x\t1\n", name)
    (row,) = LOADER.load(f"mgsm:{given}{path}")
    assert row.fields["tags"] == {"benchmark": "mgsm", "language": language}


def test_a_file_whose_name_tells_no_language_is_refused_with_what_to_write(tmp_path: Path) -> None:
    path = write(tmp_path, "x\t1\n", "questions.tsv")
    with pytest.raises(UserError, match=f"mgsm:de:{path}"):
        list(LOADER.load(f"mgsm:{path}"))


@pytest.mark.parametrize(("language", "text"), [("de", "Es sind 2.125."), ("en", "It is 2,125."), ("zh", "2,125 元")])
def test_an_answer_in_the_way_its_language_writes_numbers_is_right(tmp_path: Path, language: str, text: str) -> None:
    path = write(tmp_path, "x\t2,125\n")
    (item,) = golden.load([f"mgsm:{language}:{path}"]).items
    assert NUMBER.score(item, Answer(item.id, text)).value == 1.0


def test_one_problem_in_two_languages_is_one_cluster(tmp_path: Path) -> None:
    paths = [write(tmp_path, "x\t1\ny\t2\n", name) for name in ("mgsm_en.tsv", "mgsm_es.tsv")]
    items = golden.load([f"mgsm:{path}" for path in paths]).items
    assert [item.cluster for item in items] == ["mgsm/1", "mgsm/2", "mgsm/1", "mgsm/2"]
    assert len({item.id for item in items}) == 4


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no tab", "1 cells; expected a question, one tab"),
        ("a\tb\t3", "3 cells; expected a question, one tab"),
        ("\t3", "expected a question"),
        ("x\tmany", "the answer, after the tab, is 'many'; expected a whole number"),
        ("x\t", "expected a whole number"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(tmp_path: Path, line: str, says: str) -> None:
    path = write(tmp_path, f"fine\t1\n{line}\n")
    with pytest.raises(UserError, match=says) as caught:
        list(LOADER.load(f"mgsm:{path}"))
    assert str(caught.value).startswith(f"{path}:2: ")
