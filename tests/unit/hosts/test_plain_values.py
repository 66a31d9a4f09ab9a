"""Values cross as JSON and are the same on the other side; what is no plain value equals nothing there."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest

from paredown.hosts.plain_values import CannotCross, Opaque, pack, unpack


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(10**40),
        0.1,
        math.inf,
        "\x00\ud800é",
        [],
        [1, [2, (3, "list")]],
        ("dict",),
        {1: {"a": {2}}, (1, 2): frozenset({b"\xff"})},
        2j,
    ],
)
def test_a_plain_value_is_the_same_behind_json(value: object) -> None:
    found = unpack(json.loads(json.dumps(pack(value, strict=True))))
    assert found == value
    assert type(found) is type(value)


def test_kinds_of_dict_become_dict() -> None:
    assert unpack(pack(Counter("aab"), strict=False)) == {"a": 2, "b": 1}


def test_what_is_no_plain_value_equals_nothing_or_is_refused() -> None:
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    (found,) = unpack(json.loads(json.dumps(pack([Equal()], strict=False))))
    assert isinstance(found, Opaque)
    assert found not in (None, 0, 2, "", [])
    with pytest.raises(CannotCross, match="Equal"):
        pack({"a": [Equal()]}, strict=True)


@pytest.mark.parametrize("packed", [["dict", [1]], ["complex", "x", "y"], ["bytes", "zz"], []])
def test_what_nobody_packed_is_refused(packed: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        unpack(packed)
