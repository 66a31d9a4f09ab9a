"""The store keeps records through kills and notices every change."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from paredown.errors import DiskFullError, RecordError, RunInUseError, UserError
from paredown.records.figure import Figure
from paredown.store import run_store
from paredown.store.lock import exclusive
from paredown.store.run_store import RunStore


def figure(value: float) -> Figure:
    return Figure("ttft", "s", value, count=3)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "run", create=True)


def test_a_record_comes_back_as_it_was(store: RunStore) -> None:
    store.put("figure", "a", figure(1.5))
    assert store.find("figure", "a", Figure) == figure(1.5)


def test_the_newest_record_of_a_key_is_found_and_the_old_one_stays(store: RunStore) -> None:
    store.put("figure", "a", figure(1.0))
    store.put("figure", "a", figure(2.0))
    assert store.get("figure", "a", Figure) == figure(2.0)
    assert len(list(store.entries("figure"))) == 2


def test_what_is_stored_is_not_made_again_after_reopening(store: RunStore) -> None:
    store.once("figure", "a", Figure, lambda: figure(1.0))
    store.close()
    again = RunStore(store.directory)
    assert again.once("figure", "a", Figure, lambda: pytest.fail("made twice")) == figure(1.0)


def test_a_missing_record_is_an_error_that_says_so(store: RunStore) -> None:
    with pytest.raises(RecordError, match="did not get that far"):
        store.get("figure", "a", Figure)


def test_bulk_records_live_in_a_file_named_by_its_digest(store: RunStore) -> None:
    entry = store.put("figure", "a", figure(3.0), bulk=True)
    assert store.find("figure", "a", Figure) == figure(3.0)
    assert (store.directory / "files" / entry.bulk[:2] / f"{entry.bulk}.json.gz").is_file()


def test_a_clean_record_checks_out(store: RunStore) -> None:
    store.put("figure", "a", figure(1.0))
    store.put("figure", "b", figure(2.0), bulk=True)
    assert store.check() == 2


def test_a_changed_byte_in_a_bulk_file_is_noticed(store: RunStore) -> None:
    entry = store.put("figure", "a", figure(1.0), bulk=True)
    path = store.directory / "files" / entry.bulk[:2] / f"{entry.bulk}.json.gz"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(RecordError, match="was changed"):
        store.check()


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE entries SET body = replace(body, '1.0', '9.0') WHERE seq = 1",
        "UPDATE entries SET key = 'z' WHERE seq = 1",
        "DELETE FROM entries WHERE seq = 1",
        "UPDATE entries SET created_unix_ns = 5 WHERE seq = 2",
    ],
)
def test_a_changed_or_removed_entry_breaks_the_chain(store: RunStore, tampering: str) -> None:
    store.put("figure", "a", figure(1.0))
    store.put("figure", "b", figure(2.0))
    with sqlite3.connect(store.directory / "record.sqlite") as database:
        database.execute(tampering)
    database.close()
    with pytest.raises(RecordError, match="chain of digests"):
        store.check()


def test_the_root_digest_changes_with_every_entry(store: RunStore) -> None:
    before = store.root_digest()
    store.put("figure", "a", figure(1.0))
    assert store.root_digest() != before


def test_a_directory_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        RunStore(tmp_path)


def test_two_runs_in_one_directory_are_refused_and_the_first_is_named(tmp_path: Path) -> None:
    with exclusive(tmp_path), pytest.raises(RunInUseError, match=str(os.getpid())), exclusive(tmp_path):
        pass


def test_a_directory_is_free_again_after_the_run(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        pass
    with exclusive(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_a_full_disk_is_one_sentence_and_loses_nothing(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("figure", "a", figure(1.0))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_store.tempfile, "mkstemp", full)
    with pytest.raises(DiskFullError, match="free some space and run the same command again"):
        store.put("figure", "b", figure(2.0), bulk=True)
    assert store.get("figure", "a", Figure) == figure(1.0)
    assert store.check() == 1
