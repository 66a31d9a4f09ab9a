"""Entries in SQLite, each chained to the one before it; bulk data in `files/`, named by SHA-256.

An entry is (kind, key) → record. Nothing is overwritten: a later entry of the same kind and key supersedes an
earlier one, and both stay. The chain digest of the last entry is the root digest of the record.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from paredown.errors import DiskFullError, RecordError, UserError
from paredown.records import codec

T = TypeVar("T")
SCHEMA_VERSION = 1
_GENESIS = "0" * 64
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, bulk TEXT NOT NULL,
    created_unix_ns INTEGER NOT NULL, chain TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_key ON entries (kind, key, seq);
"""


@dataclass(frozen=True)
class Entry:
    """One row of the record. `bulk` is the digest of the file that holds the body, or empty."""

    seq: int
    kind: str
    key: str
    body: str
    bulk: str
    created_unix_ns: int
    chain: str


class RunStore:
    """The record of one run directory. Open it once; `flow` is its only writer."""

    def __init__(self, directory: Path, *, create: bool = False, read_only: bool = False) -> None:
        self.directory = directory
        path = directory / "record.sqlite"
        if not create and not path.is_file():
            raise UserError(
                f"{directory} holds no run (no record.sqlite). Give the directory that `paredown run` made."
            )
        with _disk_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
            if read_only:
                self._database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            else:
                self._database = sqlite3.connect(path, isolation_level=None)
                self._database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {_SCHEMA}")
                self._database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, kind: str, key: str, record: object, *, bulk: bool = False) -> Entry:
        """Append a record. `bulk`: keep the body as a compressed file named by its digest."""
        body = codec.dumps(record)
        with _disk_errors(self.directory):
            file_digest = self._write_file(body) if bulk else ""
            stored = "" if bulk else body
            last = self._last()
            seq = (last.seq if last else 0) + 1
            created = time.time_ns()
            chain = chain_digest(last.chain if last else _GENESIS, seq, kind, key, stored, file_digest, created)
            entry = Entry(seq, kind, key, stored, file_digest, created, chain)
            self._database.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
                (entry.seq, kind, key, stored, file_digest, created, chain),
            )
        return entry

    def find(self, kind: str, key: str, cls: type[T]) -> T | None:
        """The newest record of that kind and key, or None when there is none."""
        row = self._database.execute(
            "SELECT * FROM entries WHERE kind = ? AND key = ? ORDER BY seq DESC LIMIT 1", (kind, key)
        ).fetchone()
        return None if row is None else codec.loads(cls, self.body(Entry(*row)))

    def get(self, kind: str, key: str, cls: type[T]) -> T:
        """As `find`; raises RecordError when there is none."""
        found = self.find(kind, key, cls)
        if found is None:
            raise RecordError(f"The record in {self.directory} has no {kind} {key!r}: the run did not get that far.")
        return found

    def once(self, kind: str, key: str, cls: type[T], make: Callable[[], T], *, bulk: bool = False) -> T:
        """The stored record, or the one that `make` makes, stored. This is what a resumed run skips by."""
        found = self.find(kind, key, cls)
        if found is not None:
            return found
        made = make()
        self.put(kind, key, made, bulk=bulk)
        return made

    def entries(self, kind: str | None = None) -> Iterator[Entry]:
        """Entries in the order in which they were written."""
        condition, values = ("WHERE kind = ?", (kind,)) if kind else ("", ())
        for row in self._database.execute(f"SELECT * FROM entries {condition} ORDER BY seq", values):  # noqa: S608
            yield Entry(*row)

    def body(self, entry: Entry) -> str:
        """The JSON of an entry. Raises RecordError when its bulk file is missing or was changed."""
        if not entry.bulk:
            return entry.body
        path = self._path(entry.bulk)
        try:
            packed = path.read_bytes()
        except OSError as error:
            raise RecordError(f"{path} is missing or unreadable ({error.strerror}): the record is damaged.") from error
        if hashlib.sha256(packed).hexdigest() != entry.bulk:
            raise RecordError(f"{path} was changed after it was written: its digest no longer is its name.")
        return gzip.decompress(packed).decode()

    def root_digest(self) -> str:
        """Digest over the whole record so far."""
        last = self._last()
        return last.chain if last else _GENESIS

    def check(self) -> int:
        """Recompute the chain and every file digest; returns how many entries were checked. Raises RecordError."""
        previous, count = _GENESIS, 0
        try:
            for entry in self.entries():
                expected = chain_digest(
                    previous, count + 1, entry.kind, entry.key, entry.body, entry.bulk, entry.created_unix_ns
                )
                if entry.chain != expected or entry.seq != count + 1:
                    raise RecordError(
                        f"Entry {count + 1} ({entry.kind} {entry.key!r}) of {self.directory} was changed, "
                        "or one before it was removed: the chain of digests is broken there."
                    )
                self.body(entry)
                previous, count = entry.chain, count + 1
        except sqlite3.DatabaseError as error:
            raise RecordError(f"{self.directory / 'record.sqlite'} is damaged: {error}.") from error
        return count

    def _last(self) -> Entry | None:
        row = self._database.execute("SELECT * FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
        return Entry(*row) if row else None

    def _path(self, digest: str) -> Path:
        return self.directory / "files" / digest[:2] / f"{digest}.json.gz"

    def _write_file(self, body: str) -> str:
        packed = gzip.compress(body.encode(), compresslevel=6, mtime=0)
        digest = hashlib.sha256(packed).hexdigest()
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(packed)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(path)
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise
        return digest


def chain_digest(previous: str, seq: int, kind: str, key: str, body: str, bulk: str, created_unix_ns: int) -> str:
    """SHA-256 that binds an entry to all before it."""
    return codec.digest([previous, seq, kind, key, body, bulk, created_unix_ns])


@contextmanager
def _disk_errors(directory: Path) -> Iterator[None]:
    """A full disk becomes one clear sentence; what was measured stays."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "full" not in str(error) and "disk I/O" not in str(error):
            raise
        raise _disk_full(directory) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _disk_full(directory) from error


def _disk_full(directory: Path) -> DiskFullError:
    return DiskFullError(
        f"The disk that holds {directory} is full. Nothing that was measured is lost: free some space and run the "
        "same command again; it goes on where it was."
    )
