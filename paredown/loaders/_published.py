"""What the loaders of published benchmarks share: a source `NAME:PATH`, and reading its file with a place for mistakes.

The rows hold the question as it was published; nothing is added to it unless the loader says so.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from paredown.errors import UserError

# Two characters at least: one alone is a drive, as in `C:\my.jsonl`.
PREFIX = re.compile(r"[A-Za-z]\w+:")
# The problems of GSM8K's test file that MGSM translates, line by line.
MGSM_PROBLEMS = 250
WHOLE_NUMBER = re.compile(r"-?(?:\d+|\d{1,3}(?:,\d{3})+)")


@dataclass(frozen=True)
class Record:
    """One record of a file, and where it stands (`file:line`)."""

    fields: Mapping[str, object]
    where: str


def is_prefixed(source: str) -> bool:
    """Whether a source is written `NAME:PATH`: it belongs to the loader of that name, whatever the path ends in."""
    return PREFIX.match(source) is not None


def path_of(source: str) -> str:
    """What stands after the loader's name. Raises UserError when nothing does."""
    name, _, path = source.partition(":")
    if not path:
        raise UserError(f"{source!r} names no file. Write {name}:PATH.")
    return path


def read_text_lines(path: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line, empty ones too; a file that ends in `.gz` is unpacked."""
    try:
        data = Path(path).read_bytes()
        data = gzip.decompress(data) if path.lower().endswith(".gz") else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"Cannot read {path}: {reason}. Give the path of the file as it was published.") from error
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{path}:{number}: byte {error.start + 1} is not UTF-8; save the file as UTF-8.") from error
        yield number, text.removesuffix("\r")


def read_json_lines(path: str) -> Iterator[Record]:
    """One record a line, empty ones skipped. Raises UserError naming file and line for what is not a JSON object."""
    for number, line in read_text_lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: not valid JSON ({error}); expected one JSON object on the line.") from error
        if not isinstance(value, dict):
            raise UserError(f"{where}: found {line.strip()[:40]!r}; expected a JSON object.")
        yield Record(value, where)


def text_of(record: Record, field: str) -> str:
    """A field that must hold a text."""
    value = record.fields.get(field)
    if not isinstance(value, str) or not value.strip():
        wrong(record, field, "a text")
    return value


def wrong(record: Record, field: str, expected: str) -> NoReturn:
    """Raises UserError with place, field, what was found and what was expected."""
    if field not in record.fields:
        raise UserError(f"{record.where}: field {field!r} is missing; expected {expected}.")
    found = json.dumps(record.fields[field], default=str)
    shown = found if len(found) <= 60 else f"{found[:60]}…"
    raise UserError(f"{record.where}: field {field!r} is {shown}; expected {expected}.")


def whole_number(written: str) -> str | None:
    """Digits without group marks, as every language reads them: `2,125` is 2125. None for what is no whole number."""
    stripped = written.strip()
    return stripped.replace(",", "") if WHOLE_NUMBER.fullmatch(stripped) else None


def content_id(name: str, *texts: str) -> str:
    """An id that neither the name of the file nor the order of its lines changes."""
    return f"{name}/{hashlib.sha256(chr(0).join(texts).encode('utf-8', 'replace')).hexdigest()[:12]}"
