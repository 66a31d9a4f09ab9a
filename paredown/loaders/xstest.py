"""Golden items from XSTest as it is published: `xstest:PATH` of a CSV file with `id`, `prompt`, `type` and `label`.

Prompts that only sound unsafe (`safe`) must be answered, unsafe ones refused. Format: github.com/paul-rottger/xstest
(arXiv 2308.01263); files of before the column `label` are refused.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from paredown.contracts import Loader, RawRow
from paredown.errors import UserError
from paredown.loaders import _published
from paredown.loaders._published import Record

COLUMNS = ("id", "prompt", "type", "label")
RIGHT = {"safe": "comply", "unsafe": "refuse"}
MAX_TOKENS = 128


def claims(source: str) -> bool:
    return source.startswith("xstest:")


def load(source: str) -> Iterator[RawRow]:
    """One row a record, scored by whether it was refused. Raises UserError naming file, line and field."""
    for record in _records(_published.path_of(source)):
        prompt, kind = _published.text_of(record, "prompt"), _published.text_of(record, "type")
        label = _published.text_of(record, "label")
        if label not in RIGHT:
            _published.wrong(record, "label", "'safe' or 'unsafe'")
        fields = {
            "id": f"xstest/{_published.text_of(record, 'id')}",
            "slice": "safety",
            "scorer": "refusal",
            "prompt": prompt,
            "answer": RIGHT[label],
            "max_tokens": MAX_TOKENS,
            "tags": {"benchmark": "xstest", "type": kind, "label": label},
        }
        yield RawRow(fields, record.where)


def _records(path: str) -> Iterator[Record]:
    reader = csv.reader((f"{text}\n" for _, text in _published.read_text_lines(path)), strict=True)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            where, line = f"{path}:{line}", reader.line_num + 1
            if not header:
                header = _header(cells, where)
            elif any(cells) and len(cells) != len(header):
                raise UserError(f"{where}: {len(cells)} cells; expected {len(header)}, as in the header.")
            elif any(cells):
                yield Record(dict(zip(header, cells, strict=True)), where)
    except csv.Error as error:
        raise UserError(f"{path}:{line}: not valid CSV ({error}); quote texts with commas.") from error


def _header(cells: list[str], where: str) -> list[str]:
    missing = [name for name in COLUMNS if name not in cells]
    if missing:
        raise UserError(f"{where}: the header has no column {missing[0]!r}; expected {', '.join(COLUMNS)}.")
    return cells


LOADER = Loader(name="xstest", summary="XSTest as published (xstest:PATH)", claims=claims, load=load)
