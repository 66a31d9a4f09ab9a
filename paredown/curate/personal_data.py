"""Personal data and secrets in texts, each replaced by a placeholder of its kind, so that a prompt still reads.

Found: e-mail and IP addresses, phone numbers, card numbers (Luhn), IBANs (ISO 7064 check digits), logins in URLs, keys
and tokens (by their issuers' forms, after `password=` and the like, JWT, private keys). **Not found: names, postal
addresses, birthdays and whatever else has no form that can be checked.** A value gets the same placeholder wherever it
stands in the texts that are masked together: `[EMAIL_1]`, `[EMAIL_2]`.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paredown.errors import MissingPackageError

Span = tuple[int, int]


@dataclass(frozen=True)
class Masked:
    """The texts with placeholders, and how many values of each kind were replaced (a value counts once)."""

    texts: tuple[str, ...]
    counts: Mapping[str, int]


def mask(texts: Sequence[str], *, phone_regions: Sequence[str] = ("US",)) -> Masked:
    """Texts that belong together (a conversation and its answer), masked with one numbering.

    phone_regions: countries (ISO 3166) whose national way of writing phone numbers is known beside +49 …
    Raises MissingPackageError without `phonenumbers`.
    """
    numbers: dict[str, dict[str, int]] = {}
    found = []
    for text in texts:
        masked = text
        for kind, find in _KINDS.items():
            masked = _replaced(masked, kind, find(masked), numbers)
        found.append(_replaced(masked, "PHONE", _phones(masked, phone_regions), numbers))
    return Masked(tuple(found), {kind: len(values) for kind, values in numbers.items()})


def _replaced(text: str, kind: str, spans: Iterator[Span], numbers: dict[str, dict[str, int]]) -> str:
    parts, end = [], 0
    for start, stop in spans:
        known = numbers.setdefault(kind, {})
        number = known.setdefault(text[start:stop].casefold(), len(known) + 1)
        parts += [text[end:start], f"[{kind}_{number}]"]
        end = stop
    return "".join([*parts, text[end:]])


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────

_PEM = r"-----{} (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = re.compile(rf"{_PEM.format('BEGIN')}.*?(?:{_PEM.format('END')}|\Z)", re.DOTALL)
_JWT = re.compile(r"\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*")
_LOGIN = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://([^\s/:@\"'<>]{1,200}:[^\s/@\"'<>]{1,200})@")
_KEY = re.compile(
    r"\b(?:sk-(?:[a-z]+-){0,3}[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}"
    r"|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}"
    r"|pypi-[\w-]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,})(?![\w-])"
)
_BEARER = re.compile(r"\b(?:Bearer|Basic|Token)\s+([A-Za-z0-9+/._~-]{20,}={0,2})")
_ASSIGNED = re.compile(
    r"(?:api[_-]?key|secret(?:[_-]?key)?|access[_-]?token|auth[_-]?token|token|passw(?:or)?d|passphrase|pwd)"
    r"[\"']?\s*(?::=|=>|[:=])\s*(?:[\"']([^\s\"']{6,200})[\"']|([^\s\"'`,;()\[\]{}<>$]{8,200})(?![\w(\[.]))",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"your|example|changeme|placeholder|x{4,}|\*{3,}|\.{3}|<|\$|\{|%|none|null|true|false", re.IGNORECASE
)


def _private_keys(text: str) -> Iterator[Span]:
    yield from (match.span() for match in _PRIVATE_KEY.finditer(text))


def _jwts(text: str) -> Iterator[Span]:
    """Three parts of base64url of which the first is a JSON header with `alg` (RFC 7515)."""
    for match in _JWT.finditer(text):
        head = match.group().partition(".")[0]
        try:
            header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
        except (ValueError, binascii.Error):
            continue
        if isinstance(header, dict) and "alg" in header:
            yield match.span()


def _logins(text: str) -> Iterator[Span]:
    yield from (match.span(1) for match in _LOGIN.finditer(text))


def _secrets(text: str) -> Iterator[Span]:
    """Keys by form, what follows `Bearer`, and values that are given to `password`, `token` and the like.

    A bare value (without quotes) must hold letters and digits, so that code such as `token = next_token` stays.
    """
    spans = [match.span() for match in _KEY.finditer(text)]
    spans += [match.span(1) for match in _BEARER.finditer(text) if re.search(r"\d", match.group(1))]
    for match in _ASSIGNED.finditer(text):
        group = 1 if match.group(1) else 2
        value = match.group(group)
        mixed = re.search(r"\d", value) and re.search(r"[A-Za-z]", value)
        if (group == 1 or mixed) and not _NO_SECRET.search(value) and not value.startswith("["):
            spans.append(match.span(group))
    yield from _apart(sorted(spans))


def _apart(spans: Sequence[Span]) -> Iterator[Span]:
    end = 0
    for start, stop in spans:
        if start >= end:
            yield start, stop
            end = stop


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────

# `git@host:path` names a repository.
_EMAIL = re.compile(
    r"(?<![\w.+-])(?!git@[\w.-]+:)\w[\w.+%'-]{0,63}@(?:\w(?:[\w-]{0,61}\w)?\.){1,8}[^\W\d_][\w-]{0,30}[^\W\d_](?![\w@])"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![a-z0-9])")
_CARD = re.compile(r"(?<![\w.,/+-])\d(?:[ -]?\d){11,18}(?![\w/-]|[.,]\d)")
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    r"|(?:6011|65\d\d|64[4-9]\d|35(?:2[89]|[3-8]\d))\d{12}|3(?:0[0-5]|[689]\d)\d{11}|62\d{14,17}"
)
_IPV4 = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[23][0-9A-Fa-f]{3}(?::{1,2}[0-9A-Fa-f]{1,4}){2,7}(?:::)?(?![\w:])")
_VERSION_BEFORE = re.compile(r"(?:\bv|\bver|versions?|release|[=~<>!^]=?|build|section|§)[\s.:=]*$", re.IGNORECASE)
_PHONE_BEFORE = re.compile(
    r"(?:phone|tel|call|mobile|cell|fax|whatsapp|sms|telefon|handy|tél|móvil)\W{0,4}$", re.IGNORECASE
)


def _emails(text: str) -> Iterator[Span]:
    yield from (match.span() for match in _EMAIL.finditer(text))


def _ibans(text: str) -> Iterator[Span]:
    """ISO 13616: country, two check digits, up to 30 characters; modulo 97 of it, rearranged as numbers, is 1."""
    for match in _IBAN.finditer(text):
        stop = match.end()
        while stop - match.start() >= 15:
            if text[stop - 1] != " " and _is_iban(text[match.start() : stop].replace(" ", "")):
                yield match.start(), stop
                break
            stop -= 1


def _is_iban(value: str) -> bool:
    turned = value[4:] + value[:4]
    return 15 <= len(value) <= 34 and int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1


def _cards(text: str) -> Iterator[Span]:
    """Numbers of the length and beginning that an issuer gives, whose last digit is right (Luhn, ISO/IEC 7812-1)."""
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
        if _ISSUERS.fullmatch(digits) and sum(value - 9 * (value > 9) for value in doubled) % 10 == 0:
            yield match.span()


def _ips(text: str) -> Iterator[Span]:
    """Addresses that are routed on the internet; private ones name nobody, and four numbers may be a version."""
    matches = [*_IPV4.finditer(text), *_IPV6.finditer(text)]
    for match in sorted(matches, key=lambda one: one.start()):
        try:
            is_global = ipaddress.ip_address(match.group()).is_global
        except ValueError:
            continue
        if is_global and not _VERSION_BEFORE.search(text[max(0, match.start() - 20) : match.start()]):
            yield match.span()


def _phones(text: str, regions: Sequence[str]) -> Iterator[Span]:
    """Numbers of a country's numbering plan: with +, with gaps as people write them, or after a word such as `Tel`."""
    if sum(map(str.isdigit, text)) < 7:
        return
    try:
        import phonenumbers
    except ImportError as error:
        raise MissingPackageError("Masking phone numbers", "phonenumbers", "pip install phonenumberslite") from error
    spans: list[Span] = []
    for region in (None, *regions):
        for match in phonenumbers.PhoneNumberMatcher(text, region, leniency=phonenumbers.Leniency.VALID):
            start, stop = match.start, match.end
            start += len(text[start:stop]) - len(text[start:stop].lstrip("(")) if ")" not in text[start:stop] else 0
            written = text[start:stop]
            before = text[max(0, start - 16) : start]
            certain = written.startswith(("+", "00")) or _PHONE_BEFORE.search(before) is not None
            if certain or re.search(r"\d[ ().\-/]+\d", written):
                spans.append((start, stop))
    yield from _apart(sorted(spans))


_KINDS: Mapping[str, Callable[[str], Iterator[Span]]] = {
    "PRIVATE_KEY": _private_keys,
    "JWT": _jwts,
    "LOGIN": _logins,
    "SECRET": _secrets,
    "EMAIL": _emails,
    "IBAN": _ibans,
    "CARD": _cards,
    "IP": _ips,
}
"""In this order: what may hold something that looks like another kind comes first. Phone numbers come last."""
