"""Personal data: what is found, and what looks like it and is not."""

from __future__ import annotations

import base64
import json

import pytest

from paredown.curate.personal_data import mask


def _jwt() -> str:
    head, body = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890"})
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (head, body)]
    return ".".join([*parts, "c2lnbmF0dXJl"])


FOUND = [
    ("Write to ana.bell+x@mail.example.org, please.", "Write to [EMAIL_1], please."),
    ("<o'neil@example.co.uk>", "<[EMAIL_1]>"),
    ("Почта: иван@пример.рф", "Почта: [EMAIL_1]"),
    ("card 4111 1111 1111 1111, thanks", "card [CARD_1], thanks"),
    ("378282246310005", "[CARD_1]"),
    ("5555-5555-5555-4444.", "[CARD_1]."),
    ("IBAN DE89 3704 0044 0532 0130 00 BIC COBADEFF", "IBAN [IBAN_1] BIC COBADEFF"),
    ("GB82WEST12345698765432", "[IBAN_1]"),
    ("from 8.8.4.4 to 203.1.2.3:80", "from [IP_1] to [IP_2]:80"),
    ("host 2a00:1450:4001:81b::200e is up", "host [IP_1] is up"),
    ("postgres://admin:s3cr3t@db.internal:5432/x", "postgres://[LOGIN_1]@db.internal:5432/x"),
    ("key sk-proj-abcDEF0123456789abcDEF0123456789", "key [SECRET_1]"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[SECRET_1]"),
    ("AKIAIOSFODNN7EXAMPLE", "[SECRET_1]"),
    ("Authorization: Bearer 0123456789abcdef0123456789", "Authorization: Bearer [SECRET_1]"),
    ('password: "hunter22!"', 'password: "[SECRET_1]"'),
    ("PASSWORD=Tr0ub4dor3", "PASSWORD=[SECRET_1]"),
    ('{"api_key": "9f8e7d6c5b4a"}', '{"api_key": "[SECRET_1]"}'),
    (f"token {_jwt()} end", "token [JWT_1] end"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nok", "[PRIVATE_KEY_1]\nok"),
    ("cut: -----BEGIN PRIVATE KEY-----\nMIIE", "cut: [PRIVATE_KEY_1]"),
]


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_it_is_found_and_the_rest_of_the_text_stays(text: str, expected: str) -> None:
    assert mask([text], phone_regions=()).texts == (expected,)


LOOK_ALIKES = [
    "order 4111111111111112 of 2024",  # wrong check digit
    "order 9111 1111 1111 1111",  # right check digit or not: no issuer begins with 9
    "3.141592653589793238",
    "DE88 3704 0044 0532 0130 00",  # wrong check digits
    "version 1.2.3.4, v8.8.8.8, foo==8.8.8.8 and foo-8.8.8.8.tar.gz",
    "Chrome/120.0.6099.109",
    "127.0.0.1, 192.168.1.10 and 10.0.0.7",
    "12:30:45 and 2024:11:30",
    "std::vector<int> a::b dead::beef",
    "@app.route('/x') and x @ y and user@localhost",
    "npm install react@18.2.0 git@github.com:owner/name.git",
    "token = next_token(stream); password = getpass()",
    "token_ids = tokens[0]; secret = config.secret",
    'api_key="YOUR_API_KEY" password="<password>" token=${TOKEN_1}',
    "the password: must have 8 letters",
    "https://example.org:8080/a@b",
    "eyJhello.world.again eyJub3RoaW5n.eyJub3RoaW5n.x",
    "eyJhIjoxfQ.eyJhIjoxfQ.eyJhIjoxfQ",  # JSON without an algorithm
    "task-sk-short sk-learn",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "550e8400-e29b-41d4-a716-446655440000",
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert mask([text], phone_regions=()).texts == (text,)


def test_a_value_has_one_placeholder_in_all_texts_that_belong_together() -> None:
    found = mask(["a@example.org wrote to b@example.org", "Dear B@Example.org,"], phone_regions=())
    assert found.texts == ("[EMAIL_1] wrote to [EMAIL_2]", "Dear [EMAIL_2],")
    assert found.counts == {"EMAIL": 2}


@pytest.mark.parametrize("text", ["1" * 20_000, "a" * 20_000 + "@", "A" * 20_000, "1:" * 10_000, "x.y@" * 5_000])
@pytest.mark.timeout(10)
def test_long_runs_of_one_letter_take_no_long_time(text: str) -> None:
    assert mask([text], phone_regions=()).texts[0]
