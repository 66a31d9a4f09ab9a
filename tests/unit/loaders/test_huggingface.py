"""Hugging Face data sets: what can be said without the package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from paredown.errors import MissingPackageError
from paredown.loaders.huggingface import LOADER


def test_a_missing_package_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'paredown\[datasets\]'"):
        list(LOADER.load("hf:owner/name:test"))


def test_it_claims_the_prefix_and_saved_directories(tmp_path: Path) -> None:
    assert LOADER.claims("hf:owner/name:test")
    assert not LOADER.claims(str(tmp_path))
    (tmp_path / "dataset_dict.json").write_text("{}")
    assert LOADER.claims(str(tmp_path))
    assert LOADER.claims(f"{tmp_path}:train")
