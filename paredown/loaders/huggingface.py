"""Golden items from a Hugging Face data set.

`hf:OWNER/NAME:SPLIT` or `hf:OWNER/NAME:CONFIG:SPLIT` from the hub or its cache; or a directory that
`Dataset.save_to_disk` wrote (of a DatasetDict `DIRECTORY:SPLIT`). Code in a data set is never run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paredown.contracts import Loader, Needs, RawRow
from paredown.errors import MissingPackageError, UnknownNameError, UserError, first_line

PREFIX = "hf:"
INSTALL = "pip install 'paredown[datasets]'"


def claims(source: str) -> bool:
    return source.startswith(PREFIX) or _local(source) is not None


def load(source: str) -> Iterator[RawRow]:
    """One row a record; `where` counts rows from 1. Raises MissingPackageError or UserError."""
    try:
        import datasets
    except ImportError as error:
        raise MissingPackageError(f"The data set {source}", "datasets", INSTALL) from error
    table = _from_disk(datasets, source) if _local(source) else _from_hub(datasets, source)
    for number, fields in enumerate(table, start=1):
        yield RawRow({name: value for name, value in fields.items() if value is not None}, f"{source}:{number}")


def _local(source: str) -> Path | None:
    """The directory of a saved data set that the source names, if it names one."""
    for name in (source, source.rpartition(":")[0]):
        folder = Path(name)
        if name and ((folder / "dataset_info.json").is_file() or (folder / "dataset_dict.json").is_file()):
            return folder
    return None


def _from_disk(datasets: Any, source: str) -> Any:
    folder = _local(source)
    try:
        table = datasets.load_from_disk(str(folder))
    except Exception as error:
        raise UserError(f"Cannot open the data set {folder}: {error}. Write it with save_to_disk.") from error
    split = source[len(str(folder)) + 1 :] if source != str(folder) else ""
    if not isinstance(table, datasets.DatasetDict):
        if split:
            raise UserError(f"{folder} has no splits. Leave ':{split}' out.")
        return table
    if not split:
        raise UserError(f"{folder} has the splits {', '.join(sorted(table))}. Name one: {folder}:{min(table)}")
    if split not in table:
        raise UnknownNameError(f"split of {folder}", split, table)
    return table[split]


def _from_hub(datasets: Any, source: str) -> Any:
    name, *rest = source.removeprefix(PREFIX).split(":")
    if not name or len(rest) not in (1, 2) or not all(rest):
        raise UserError(f"{source!r} does not name a data set and a split. Write hf:OWNER/NAME:SPLIT.")
    config = rest[0] if len(rest) == 2 else None
    try:
        return datasets.load_dataset(name, config, split=rest[-1])
    except Exception as error:
        raise UserError(
            f"Cannot load the data set {name!r}, split {rest[-1]!r}: {first_line(error)}. "
            "Check the name and the network, or give a JSONL file."
        ) from error


LOADER = Loader(
    name="huggingface",
    summary="a Hugging Face data set (hf:OWNER/NAME:SPLIT, or a directory of save_to_disk)",
    claims=claims,
    load=load,
    needs=Needs(packages=("datasets",), extra="datasets"),
)
