"""The set that ships: every row is an item, and one slice can be asked for."""

from __future__ import annotations

import pytest

from paredown.errors import UnknownNameError
from paredown.evaluate import golden
from paredown.loaders.builtin import LOADER


def test_every_row_that_ships_is_an_item_with_an_id_of_its_own() -> None:
    rows = list(LOADER.load("builtin"))
    assert len(golden.load(["builtin"]).items) == len(rows) >= 600
    assert rows[0].where.startswith("builtin/")


def test_one_slice_can_be_asked_for() -> None:
    assert golden.load(["builtin:safety"]).slices == ("safety",)


def test_an_unknown_slice_names_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'safety'"):
        list(LOADER.load("builtin:safty"))
