"""Where isolated environments lie in the cache, and which of them are finished.

An environment is `CACHE/environments/NAME-DIGEST/`; the digest covers the requirements, so that a new pin makes a new
environment and an old one is never changed under somebody's feet. It is finished when its stamp is there: the stamp
is the last thing written.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from paredown.contracts import Environment
from paredown.errors import UserError
from paredown.records.codec import digest

STAMP = "finished.json"
LOCK_SUFFIX = ".lock"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Finished:
    """An environment that is ready: its requirements as asked for, and the size of its directory."""

    name: str
    python: Path
    requirements: tuple[str, ...]
    size_bytes: int


def directory(environment: Environment, cache: Path) -> Path:
    """The directory that belongs to exactly these requirements and this minor version of Python."""
    if not NAME.fullmatch(environment.name):
        raise UserError(
            f"{environment.name!r} cannot name an environment: use lower-case letters, digits, '.', '_' and '-'."
        )
    key = digest(
        {
            "requirements": environment.requirements,
            "remove": environment.remove,
            "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        }
    )
    return cache / "environments" / f"{environment.name}-{key[:12]}"


def python_in(where: Path) -> Path:
    """The interpreter of the virtual environment in `where`."""
    return where / "Scripts" / "python.exe" if sys.platform == "win32" else where / "bin" / "python"


def locate(environment: Environment, cache: Path) -> Path | None:
    """The Python of the finished environment, or None when it has not been made (or was left half-made)."""
    where = directory(environment, cache)
    python = python_in(where)
    return python if (where / STAMP).is_file() and python.exists() else None


def listing(cache: Path) -> tuple[Finished, ...]:
    """All finished environments below `cache`, by name. Half-made ones are not listed: `ensure` makes them anew."""
    found = []
    for stamp in sorted((cache / "environments").glob(f"*/{STAMP}")):
        facts = json.loads(stamp.read_text(encoding="utf-8"))
        size = sum(path.lstat().st_size for path in stamp.parent.rglob("*") if not path.is_dir())
        found.append(Finished(facts["name"], python_in(stamp.parent), tuple(facts["requirements"]), size))
    return tuple(found)


def removed(environment: Environment, cache: Path) -> bool:
    """Delete the environment from the disk; whether there was anything to delete."""
    where = directory(environment, cache)
    if not where.exists():
        return False
    (where / STAMP).unlink(missing_ok=True)
    shutil.rmtree(where)
    return True
