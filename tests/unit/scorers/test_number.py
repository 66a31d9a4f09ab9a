"""Numbers are found however they are written."""

from __future__ import annotations

import pytest

from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message
from paredown.scorers.number import SCORER


def value(text: str, right: str, **arguments: str | float) -> float | None:
    item = GoldenItem("i", "s", "number", (Message("user", "?"),), right, arguments=arguments)
    SCORER.check(item)
    return SCORER.score(item, Answer("i", text)).value


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The answer is 42.", "42"),
        ("1,234.5", "1234.5"),
        ("1.234,5", "1234.5"),
        ("1 234,5 kg", "1234.5"),
        ("1'234", "1234"),
        ("12 3456", "3456"),
        ("1\u202f234\u202f567", "1234567"),
        ("1,234", "1234"),
        ("3,5", "3.5"),
        ("0,500", "0.5"),
        (".5", "0.5"),
        ("It is −7 °C", "-7"),
        ("6 - 10-5", "5"),
        ("$1,200.00", "1200"),
        ("1.5e3", "1500"),
        ("٣٤", "34"),
        ("10²", "10"),
        ("1, 2, 3", "3"),
        ("1,2,3", "3"),
        ("so...5", "5"),
        ("99%", "99"),
        ("1e-2 is 0.01", "1e-2"),
    ],
)
def test_the_last_number_is_read(text: str, right: str) -> None:
    assert value(text, right) == 1.0


def test_the_first_number_is_read_when_asked() -> None:
    assert value("12, because 3 times 4 is 12; not 15", "12", which="first") == 1.0
    assert value("12, not 15", "12") == 0.0


def test_a_decimal_comma_decides_where_the_text_alone_cannot() -> None:
    assert value("1,234", "1.5", decimal=",", tolerance=0.3) == 1.0
    assert value("1.234", "1234", decimal=",") == 1.0


def test_a_difference_beyond_the_tolerance_is_wrong() -> None:
    assert value("3.14", "3.14159", tolerance=0.01) == 1.0
    assert value("3.1", "3.14159", tolerance=0.01) == 0.0


def test_no_number_is_wrong_and_says_so() -> None:
    item = GoldenItem("i", "s", "number", (Message("user", "?"),), "1")
    assert SCORER.score(item, Answer("i", "none of x5")).why == "no number in the text"


@pytest.mark.parametrize(
    ("right", "arguments"),
    [("forty", {}), ("1, 2", {}), ("1,2,3", {}), ("", {}), ("1", {"which": "middle"}), ("1", {"tolerance": "wide"})],
)
def test_an_item_that_is_not_about_one_number_is_refused(right: str, arguments: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        value("1", right, **arguments)


def test_a_negative_or_endless_tolerance_is_refused() -> None:
    for tolerance in ("-1", "nan", "inf"):
        with pytest.raises(ValueError, match="tolerance"):
            value("1", "1", tolerance=tolerance)
