"""Hugging Face data sets in local directories, read by the package itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.evaluate import golden

datasets = pytest.importorskip("datasets", reason="the optional package datasets is not installed")
pytestmark = pytest.mark.real

ROWS = {
    "prompt": ["Largest planet?", "Two and two?"],
    "choices": [["Mars", "Jupiter"], ["4", "5"]],
    "answer": ["Jupiter", "4"],
    "slice": ["facts", None],
}


@pytest.fixture
def saved(tmp_path: Path) -> str:
    datasets.Dataset.from_dict(ROWS).save_to_disk(tmp_path / "set")
    return str(tmp_path / "set")


@pytest.fixture
def saved_splits(tmp_path: Path) -> str:
    table = datasets.Dataset.from_dict(ROWS)
    datasets.DatasetDict({"test": table, "train": table.select([0])}).save_to_disk(tmp_path / "splits")
    return str(tmp_path / "splits")


def test_rows_of_a_saved_data_set_become_items(saved: str) -> None:
    first, second = golden.load([saved]).items
    assert (first.scorer, first.choices, first.answer, first.slice) == ("likelihood", ("Mars", "Jupiter"), "1", "facts")
    assert (second.slice, second.answer, second.where) == ("default", "0", f"{saved}:2")


def test_a_split_is_named_after_the_directory(saved_splits: str) -> None:
    assert len(golden.load([f"{saved_splits}:test"]).items) == 2
    assert len(golden.load([f"{saved_splits}:train"]).items) == 1


def test_a_split_that_is_missing_or_unknown_is_refused_with_what_to_type(saved: str, saved_splits: str) -> None:
    with pytest.raises(UserError, match=r"has the splits test, train. Name one: .*splits:test"):
        golden.load([saved_splits])
    with pytest.raises(UserError, match="Did you mean 'train'"):
        golden.load([f"{saved_splits}:trian"])
    with pytest.raises(UserError, match="has no splits"):
        golden.load([f"{saved}:test"])


def test_a_directory_that_only_looks_like_a_data_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dataset_info.json").write_text("{}")
    with pytest.raises(UserError, match="Cannot open the data set"):
        golden.load([str(tmp_path)])


def test_a_data_set_of_the_hub_without_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="Cannot load the data set 'owner/none', split 'test'") as caught:
        golden.load(["hf:owner/none:test"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("source", ["hf:owner/name", "hf:", "hf:owner/name:"])
def test_a_hub_data_set_needs_a_split(source: str) -> None:
    with pytest.raises(UserError, match="Write hf:OWNER/NAME:SPLIT"):
        golden.load([source])
