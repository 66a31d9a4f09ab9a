"""Golden items from a JSONL file: one JSON object a line, UTF-8, empty lines skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paredown.contracts import Loader, RawRow
from paredown.errors import UserError
from paredown.loaders import _published

SUFFIXES = (".jsonl", ".ndjson")


def claims(source: str) -> bool:
    return source.lower().endswith(SUFFIXES) and not _published.is_prefixed(source)


def load(source: str) -> Iterator[RawRow]:
    """One row a line. Raises UserError naming file and line for what is not UTF-8, not JSON or not an object."""
    try:
        lines = Path(source).read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(f"Cannot read {source}: {error.strerror}. Give the path of a JSONL file.") from error
    for number, line in enumerate(lines, start=1):
        where = f"{source}:{number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{where}: byte {error.start + 1} is not UTF-8; save the file as UTF-8.") from error
        if text.strip():
            yield RawRow(_parse(text, where), where)


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not valid JSON ({error}); expected one JSON object on the line.") from error
    if not isinstance(value, dict):
        raise UserError(f'{where}: found {text.strip()[:40]!r}; expected a JSON object, as in {{"prompt": …}}.')
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"field {key!r} stands twice")
        found[key] = value
    return found


LOADER = Loader(name="jsonl", summary="a file with one JSON object a line (.jsonl, .ndjson)", claims=claims, load=load)
