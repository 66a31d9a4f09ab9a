"""Traces that hold lengths and arrival times, no texts. They are known by their fields, not by the file's name.

Azure LLM inference traces: CSV `TIMESTAMP,ContextTokens,GeneratedTokens`, times as dates or seconds.
Mooncake: JSONL `timestamp` (ms), `input_length`, `output_length`, `hash_ids` (one id for each block of 512 tokens of
the prompt, the last one for what is left; equal leading ids are an equal beginning).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from paredown.errors import UserError
from paredown.traffic import fields
from paredown.traffic.rows import FieldNames, Flaw, Row
from paredown.traffic.times import seconds

AZURE = FieldNames("TIMESTAMP", "ContextTokens", "GeneratedTokens")
MOONCAKE = FieldNames("timestamp", "input_length", "output_length")
_COLUMNS = (AZURE.time, AZURE.prompt, AZURE.output)


def azure(content: str, source: str) -> Iterator[Row | Flaw]:
    """Rows of the CSV. Raises UserError for a missing column, before the first row."""
    lines = csv.reader(io.StringIO(content, newline=""))
    header = [name.strip() for name in next(lines, [])]
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        raise UserError(
            f"{source} has no column {missing[0]}; its first line is {','.join(header)[:80]!r}. A trace is a CSV file "
            f"that begins with {','.join(_COLUMNS)}."
        )
    return _azure_rows(lines, [header.index(name) for name in _COLUMNS], len(header), source)


def _azure_rows(lines: Any, places: list[int], columns: int, source: str) -> Iterator[Row | Flaw]:
    """lines: a `csv.reader` behind its header"""
    while True:
        try:
            cells = next(lines, None)
        except csv.Error as error:
            yield Flaw(f"{source}:{lines.line_num} is not CSV: {error}.")
            continue
        if cells is None:
            return
        if cells:
            yield _azure_row(cells, places, columns, f"{source}:{lines.line_num}")


def _azure_row(cells: list[str], places: list[int], columns: int, where: str) -> Row | Flaw:
    if len(cells) != columns:
        return Flaw(f"{where} has {len(cells)} columns; the first line has {columns}.")
    time, prompt, output = (cells[place] for place in places)
    try:
        return Row(
            where,
            at_s=seconds(time, f"{where}, {AZURE.time}"),
            prompt_tokens=fields.whole(prompt, f"{where}, {AZURE.prompt}"),
            output_tokens=fields.whole(output, f"{where}, {AZURE.output}"),
            names=AZURE,
        )
    except UserError as error:
        return Flaw(str(error))


def is_mooncake(row: Mapping[str, Any]) -> bool:
    return MOONCAKE.prompt in row


def mooncake_row(row: Mapping[str, Any], where: str) -> Row:
    """Raises UserError for a field that is not what it should be."""
    time, ids = row.get(MOONCAKE.time), row.get("hash_ids", [])
    if not isinstance(ids, list) or not all(isinstance(entry, int) for entry in ids):
        raise UserError(f"{where}, hash_ids is no list of whole numbers but {fields.shown(ids)}.")
    if time is not None and (isinstance(time, bool) or not isinstance(time, int | float)):
        raise UserError(f"{where}, {MOONCAKE.time} is no number of milliseconds but {fields.shown(time)}.")
    return Row(
        where,
        at_s=None if time is None else time / 1e3,
        prompt_tokens=fields.whole(row[MOONCAKE.prompt], f"{where}, {MOONCAKE.prompt}"),
        output_tokens=fields.whole(row.get(MOONCAKE.output), f"{where}, {MOONCAKE.output}"),
        blocks=tuple(ids),
        names=MOONCAKE,
    )
