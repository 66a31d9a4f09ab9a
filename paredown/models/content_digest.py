"""SHA-256 over the files of a directory: sorted relative names with the digests of their contents."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paredown.errors import UserError


def files(directory: Path) -> tuple[Path, ...]:
    """Every file below the directory (links followed), sorted by relative name."""
    found = (Path(root) / name for root, _, names in os.walk(directory, followlinks=True) for name in names)
    return tuple(sorted(found, key=lambda path: path.relative_to(directory).as_posix()))


def digest_of(directory: Path, *, known: Path | None = None) -> str:
    """Digest of the directory's content; other names of the directory give the same one.

    known: a JSON file that keeps file digests by (path, size, time of change), so that unchanged files are not read
           again; None reads every byte, as a verification must
    Raises UserError when a file cannot be read.
    """
    paths = files(directory)
    cached = _load(known)
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        pairs = list(pool.map(lambda path: _file_digest(path, cached), paths))
    if known is not None:
        _keep(known, cached | dict(pairs))
    total = hashlib.sha256()
    for path, (_, file_digest) in zip(paths, pairs, strict=True):
        total.update(f"{path.relative_to(directory).as_posix()}\0{file_digest}\n".encode())
    return total.hexdigest()


def _file_digest(path: Path, cached: dict[str, str]) -> tuple[str, str]:
    try:
        facts = path.stat()
        key = f"{path.resolve()}|{facts.st_size}|{facts.st_mtime_ns}"
        if key in cached:
            return key, cached[key]
        with path.open("rb") as stream:
            return key, hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from error


def _load(known: Path | None) -> dict[str, str]:
    if known is None:
        return {}
    # A damaged cache is no harm: the files are read again.
    with contextlib.suppress(OSError, ValueError):
        plain = json.loads(known.read_text(encoding="utf-8"))
        if isinstance(plain, dict):
            return plain
    return {}


def _keep(known: Path, digests: dict[str, str]) -> None:
    half = known.with_name(f"{known.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        known.parent.mkdir(parents=True, exist_ok=True)
        half.write_text(json.dumps(digests), encoding="utf-8")
        half.replace(known)
