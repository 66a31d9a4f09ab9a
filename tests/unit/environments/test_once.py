"""Directories made once: complete or not there at all."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from paredown.environments.once import made_once


def silent(fraction: float, what: str) -> None:
    return None


def write(directory: Path) -> None:
    (directory / "file").write_text("done")


def test_it_is_made_and_then_only_returned(tmp_path: Path) -> None:
    final = tmp_path / "a" / "model"

    assert made_once(final, write, what="making it", on_progress=silent) == final
    made_once(final, lambda _: pytest.fail("made twice"), what="making it", on_progress=silent)

    assert (final / "file").read_text() == "done"


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def fail(directory: Path) -> None:
        write(directory)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_once(tmp_path / "model", fail, what="making it", on_progress=silent)

    assert [path.name for path in tmp_path.iterdir()] == [".model.lock"]


def test_what_a_kill_left_is_deleted_before_the_next_attempt(tmp_path: Path) -> None:
    half = tmp_path / ".model.half"
    half.mkdir()
    (half / "stale").write_text("from a killed process")

    made_once(tmp_path / "model", write, what="making it", on_progress=silent)

    assert [path.name for path in (tmp_path / "model").iterdir()] == ["file"]


def test_two_at_once_make_it_once_and_the_second_says_that_it_waits(tmp_path: Path) -> None:
    said: list[str] = []
    waiting = threading.Event()

    def heard(fraction: float, what: str) -> None:
        said.append(what)
        waiting.set()

    def never(directory: Path) -> None:
        pytest.fail("made twice")

    with (tmp_path / ".model.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        second = threading.Thread(
            target=made_once, args=(tmp_path / "model", never), kwargs={"what": "making it", "on_progress": heard}
        )
        second.start()
        assert waiting.wait(10)
        (tmp_path / "model").mkdir()
        fcntl.flock(other, fcntl.LOCK_UN)
        second.join(10)

    assert said == ["another process is making it: waiting for it"]
    assert not second.is_alive()


def test_making_nothing_is_a_mistake_of_ours_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="left an empty directory"):
        made_once(tmp_path / "model", lambda _: None, what="making it", on_progress=silent)

    assert not (tmp_path / "model").exists()
