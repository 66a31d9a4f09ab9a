"""Directories that are made once: under a lock, in a temporary place, renamed when complete."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

OnProgress = Callable[[float, str], None]
"""(fraction done 0…1, what is being done)"""


def made_once(final: Path, make: Callable[[Path], None], *, what: str, on_progress: OnProgress) -> Path:
    """`final`, filled by `make(directory)` unless it is there already.

    Another process that makes the same one is waited for. A kill leaves nothing at `final`, and what it left beside it
    is deleted by the next attempt. Whatever `make` raises is passed on.
    """
    if final.is_dir():
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    with _locked(final.with_name(f".{final.name}.lock"), what, on_progress):
        if final.is_dir():
            return final
        half = final.with_name(f".{final.name}.half")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir()
        try:
            make(half)
            assert any(half.iterdir()), f"{what} left an empty directory"
            _flush_to_disk(half)
            half.replace(final)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return final


def _flush_to_disk(directory: Path) -> None:
    # After a power cut a renamed directory must not hold empty files.
    for path in directory.rglob("*"):
        if path.is_file() and not path.is_symlink():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def _locked(path: Path, what: str, on_progress: OnProgress) -> Iterator[None]:
    """Hold the lock file. The kernel frees it when the holder dies, even by SIGKILL."""
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress(0.0, f"another process is {what}: waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
