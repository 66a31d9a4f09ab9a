"""Phone numbers: what is found, and what only looks like one."""

from __future__ import annotations

import pytest

from paredown.curate.personal_data import mask

pytest.importorskip("phonenumbers", reason="phonenumberslite is not installed: run make check once")

PHONES = [
    ("Call +49 30 901820 today.", "Call [PHONE_1] today."),
    ("(415) 555-2671 or 415-555-2672", "[PHONE_1] or [PHONE_2]"),
    ("Tel.: 4155552671", "Tel.: [PHONE_1]"),
]


@pytest.mark.parametrize(("text", "expected"), PHONES)
def test_phone_numbers_are_found(text: str, expected: str) -> None:
    assert mask([text]).texts == (expected,)


def test_national_numbers_of_another_country_are_found_when_it_is_named() -> None:
    assert mask(["0171 1234567"]).texts == ("0171 1234567",)
    assert mask(["0171 1234567"], phone_regions=("DE",)).texts == ("[PHONE_1]",)


@pytest.mark.parametrize(
    "text",
    [
        "order 4155552671 of 2024-11-30 12:45:00",
        "int x = 2125551234;",
        "timestamp 1701388800, lat 52.520008, 13.404954",
        "ISBN 978-3-16-148410-0",
        "invoice 1234-5678-9012",
        "version 10.15.7.2024",
    ],
)
def test_what_only_looks_like_a_phone_number_stays(text: str) -> None:
    assert mask([text]).texts == (text,)
