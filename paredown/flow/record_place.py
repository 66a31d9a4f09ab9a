"""Where a record is kept: a directory that was asked for, or a temporary one that goes away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paredown.errors import UserError
from paredown.store.lock import exclusive
from paredown.store.run_store import RunStore


def make_directory(directory: Path) -> None:
    """Raises UserError when it cannot be made."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{directory} cannot be made ({error.strerror}). Choose another with --run-dir.") from error


@contextmanager
def opened(run_dir: Path | None) -> Iterator[RunStore]:
    """A record in `run_dir`, or in a temporary directory; `store.directory` is absolute.

    Raises UserError when it cannot be made, RunInUseError.
    """
    with tempfile.TemporaryDirectory(prefix="paredown-") as temporary:
        directory = (run_dir or Path(temporary)).resolve()
        make_directory(directory)
        with exclusive(directory), RunStore(directory, create=True) as store:
            yield store
