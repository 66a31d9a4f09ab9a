"""Isolated environments: made once, finished only when stamped, failures named. No venv is made and no pip is run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from paredown.contracts import Environment
from paredown.environments import directory, ensure, listing, locate, removed
from paredown.environments.place import python_in
from paredown.errors import TechniqueError, UserError

WANTED = Environment("tool", ("one==1.0", "two==2.0"), remove=("three",))


class Recorder:
    """Stands in for running commands: makes what venv would make; fails at the command that holds a word."""

    def __init__(self, fail_at: str = "") -> None:
        self.commands: list[Sequence[str]] = []
        self.fail_at = fail_at

    def __call__(self, command: Sequence[str], log: Path) -> int:
        self.commands.append(command)
        if "venv" in command:
            python = python_in(Path(command[-1]))
            python.parent.mkdir(parents=True)
            python.touch()
        with log.open("a") as sink:
            sink.write(f"output of {command[-1]}\n")
        return 1 if self.fail_at and self.fail_at in command else 0


def silent(fraction: float, what: str) -> None:
    pass


def test_an_environment_is_made_by_venv_then_install_then_removal(tmp_path: Path) -> None:
    recorder = Recorder()
    python = ensure(WANTED, tmp_path, silent, execute=recorder)
    assert python == python_in(directory(WANTED, tmp_path))
    assert [next(w for w in c if w in ("venv", "install", "uninstall")) for c in recorder.commands] == [
        "venv",
        "install",
        "uninstall",
    ]
    assert recorder.commands[1][-2:] == ["one==1.0", "two==2.0"]
    assert recorder.commands[2][-1] == "three"


def test_a_finished_environment_is_not_made_again(tmp_path: Path) -> None:
    ensure(WANTED, tmp_path, silent, execute=Recorder())
    second = Recorder()
    ensure(WANTED, tmp_path, silent, execute=second)
    assert second.commands == []


def test_an_interrupted_build_is_not_found_and_is_made_anew(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def killed_while_installing(command: Sequence[str], log: Path) -> int:
        if "install" in command:
            raise Killed
        return Recorder()(command, log)

    with pytest.raises(Killed):
        ensure(WANTED, tmp_path, silent, execute=killed_while_installing)
    left = directory(WANTED, tmp_path)
    (left / "half").touch()
    assert locate(WANTED, tmp_path) is None
    ensure(WANTED, tmp_path, silent, execute=Recorder())
    assert locate(WANTED, tmp_path) is not None
    assert not (left / "half").exists()


def test_a_failure_names_the_command_and_shows_its_output(tmp_path: Path) -> None:
    with pytest.raises(TechniqueError, match=r"one==1\.0 two==2\.0") as failure:
        ensure(WANTED, tmp_path, silent, execute=Recorder(fail_at="install"))
    assert "output of two==2.0" in failure.value.detail
    assert locate(WANTED, tmp_path) is None


def test_another_pin_gets_another_directory(tmp_path: Path) -> None:
    other = Environment("tool", ("one==1.1", "two==2.0"), remove=("three",))
    assert directory(other, tmp_path) != directory(WANTED, tmp_path)


def test_two_at_once_build_it_once(tmp_path: Path) -> None:
    recorder, waiting = Recorder(), threading.Event()

    def slow(command: Sequence[str], log: Path) -> int:
        if "venv" in command:
            assert waiting.wait(30)
        return recorder(command, log)

    def progress(fraction: float, what: str) -> None:
        if "waiting for it" in what:
            waiting.set()

    threads = [
        threading.Thread(target=ensure, args=(WANTED, tmp_path, progress), kwargs={"execute": slow}) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum("venv" in command for command in recorder.commands) == 1


def test_the_listing_holds_finished_environments_with_their_size(tmp_path: Path) -> None:
    assert listing(tmp_path) == ()
    ensure(WANTED, tmp_path, silent, execute=Recorder())
    (found,) = listing(tmp_path)
    assert (found.name, found.requirements) == ("tool", ("one==1.0", "two==2.0"))
    assert found.size_bytes > 0


def test_removing_says_whether_there_was_anything(tmp_path: Path) -> None:
    ensure(WANTED, tmp_path, silent, execute=Recorder())
    assert removed(WANTED, tmp_path)
    assert not removed(WANTED, tmp_path)
    assert locate(WANTED, tmp_path) is None


def test_a_name_that_leaves_the_cache_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot name an environment"):
        directory(Environment("../x", ()), tmp_path)
