"""The golden items that ship with paredown: `builtin` for all, `builtin:SLICE` for one slice."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterator

from paredown.contracts import Loader, RawRow
from paredown.errors import UnknownNameError


def claims(source: str) -> bool:
    return source == "builtin" or source.startswith("builtin:")


def load(source: str) -> Iterator[RawRow]:
    """Rows of every file of the set, by file name. Raises UnknownNameError for a slice that is not in it."""
    wanted = source.partition(":")[2]
    rows = list(_rows())
    slices = {str(row.fields["slice"]) for row in rows}
    if wanted and wanted not in slices:
        raise UnknownNameError("slice of the built-in golden set", wanted, slices)
    yield from (row for row in rows if not wanted or row.fields["slice"] == wanted)


def _rows() -> Iterator[RawRow]:
    folder = importlib.resources.files("paredown.builtin") / "golden"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".jsonl")), key=lambda file: file.name)
    for file in files:
        for number, line in enumerate(file.read_text("utf-8").split("\n"), start=1):
            if line.strip():
                yield RawRow(json.loads(line), f"builtin/{file.name}:{number}")


LOADER = Loader(name="builtin", summary="the set that ships with paredown", claims=claims, load=load)
