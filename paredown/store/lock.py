"""One process at a time in a run directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paredown.errors import RunInUseError


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold the directory until the block ends; the kernel lets go of it even after SIGKILL.

    Raises RunInUseError, with the process id of the holder, when another process has it.
    """
    path = directory / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = path.read_text().strip() or "unknown"
            raise RunInUseError(
                f"Another run (process {holder}) is using {directory}. "
                "Wait until it ends, stop it, or choose another directory with --run-dir."
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)
