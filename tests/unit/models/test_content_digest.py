"""One digest for one content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from paredown.models import content_digest


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "b.bin").write_bytes(b"bytes")
    (tmp_path / "d" / "sub" / "a.txt").write_bytes(b"text")
    return tmp_path / "d"


def test_it_is_sha256_over_sorted_names_and_file_digests(directory: Path) -> None:
    lines = b"".join(
        f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode()
        for name, content in (("b.bin", b"bytes"), ("sub/a.txt", b"text"))
    )

    assert content_digest.digest_of(directory) == hashlib.sha256(lines).hexdigest()


def test_the_directorys_own_name_does_not_matter(directory: Path) -> None:
    before = content_digest.digest_of(directory)

    assert content_digest.digest_of(directory.rename(directory.with_name("moved"))) == before


@pytest.mark.parametrize("name", ["b.bin", "sub/a.txt"])
def test_one_changed_byte_changes_it(directory: Path, name: str) -> None:
    before = content_digest.digest_of(directory)
    content = bytearray((directory / name).read_bytes())
    content[0] ^= 1
    (directory / name).write_bytes(content)

    assert content_digest.digest_of(directory) != before


def test_a_renamed_file_changes_it(directory: Path) -> None:
    before = content_digest.digest_of(directory)
    (directory / "b.bin").rename(directory / "c.bin")

    assert content_digest.digest_of(directory) != before


def test_known_digests_save_reading_and_can_be_bypassed(directory: Path, tmp_path: Path) -> None:
    known, file = tmp_path / "known.json", directory / "b.bin"
    before = content_digest.digest_of(directory, known=known)
    facts = file.stat()
    file.write_bytes(b"other")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    assert content_digest.digest_of(directory, known=known) == before
    assert content_digest.digest_of(directory) != before


def test_a_damaged_store_of_known_digests_is_ignored(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text("{broken")

    assert content_digest.digest_of(directory, known=tmp_path / "known.json") == content_digest.digest_of(directory)
