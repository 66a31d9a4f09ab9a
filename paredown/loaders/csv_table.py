"""Golden items from a CSV or TSV file whose header names the fields.

Cells are text: an empty one means "not given"; `choices`, `tags`, `arguments` and `messages` hold JSON, and `choices`
may instead be written `one | two | three`. `max_tokens` is a number, `zero_tolerance` is true or false.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paredown.contracts import Loader, RawRow
from paredown.errors import UserError
from paredown.loaders import _published

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_CELLS = ("choices", "tags", "arguments", "messages")
LARGEST_CELL = 10_000_000


def claims(source: str) -> bool:
    return Path(source).suffix.lower() in DELIMITERS and not _published.is_prefixed(source)


def load(source: str) -> Iterator[RawRow]:
    """One row a record. Raises UserError naming file, line and column for what cannot be read."""
    try:
        text = Path(source).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"Cannot read {source}: {error.strerror}. Give the path of a CSV file.") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{source}:{line}: not UTF-8; save the file as UTF-8.") from error
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITERS[Path(source).suffix.lower()], strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            where, line = f"{source}:{line}", reader.line_num + 1
            if header is None:
                header = _header(cells, where)
            elif any(cells):
                yield RawRow(_fields(header, cells, where), where)
    except csv.Error as error:
        raise UserError(f"{source}:{line}: not valid CSV ({error}); quote texts with commas or line ends.") from error


def _header(cells: list[str], where: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if "" in names or len(set(names)) != len(names):
        raise UserError(f"{where}: the header is {', '.join(names)!r}; expected different names, as in prompt,answer.")
    return names


def _fields(header: list[str], cells: list[str], where: str) -> dict[str, object]:
    if len(cells) != len(header):
        raise UserError(f"{where}: {len(cells)} cells; expected {len(header)}, as in the header: {', '.join(header)}.")
    return {name: _value(name, cell, where) for name, cell in zip(header, cells, strict=True) if cell != ""}


def _value(name: str, cell: str, where: str) -> Any:
    if name == "choices" and not cell.lstrip().startswith("["):
        return [part.strip() for part in cell.split("|")]
    if name in JSON_CELLS:
        try:
            return json.loads(cell)
        except ValueError as error:
            raise UserError(f"{where}: field {name!r} is not JSON ({error}); expected JSON in this column.") from error
    if name == "max_tokens":
        if not cell.strip().isascii() or not cell.strip().isdigit():
            raise UserError(f"{where}: field 'max_tokens' is {cell!r}; expected a whole number.")
        return int(cell)
    if name == "zero_tolerance":
        if cell.strip().lower() not in ("true", "false"):
            raise UserError(f"{where}: field 'zero_tolerance' is {cell!r}; expected true or false.")
        return cell.strip().lower() == "true"
    return cell


LOADER = Loader(name="csv_table", summary="a table with a header (.csv, .tsv)", claims=claims, load=load)
