"""One child process in a session of its own: started, watched, ended with all its descendants, always reaped."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from paredown.hosts.failures import says_out_of_memory

LOG_TAIL_BYTES = 8000
TERMINATE_GRACE_S = 5.0


class Process:
    """A child that leads its own session and process group.

    A thread of its own starts the child and waits for it: the kernel sends the parent-death signal when the thread
    that started the child ends, so that thread has to live as long as the child.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        log: Path,
        environment: Mapping[str, str],
        read_stdout: bool = True,
    ) -> None:
        """Raises OSError when the program cannot be started. Standard error (and output, if not read) go to `log`."""
        self.argv, self.log_path = tuple(argv), log
        self._read_stdout = read_stdout
        self._cwd, self._environment = cwd, dict(environment)
        self._started, self._ended = threading.Event(), threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._start_error: OSError | None = None
        self._kills_before = _memory_kills()
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {Path(argv[0]).name}", daemon=True)
        self._keeper.start()
        self._started.wait()
        if self._start_error is not None:
            raise self._start_error

    def _keep(self) -> None:
        try:
            with self.log_path.open("ab") as log:
                self._process = subprocess.Popen(
                    self.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE if self._read_stdout else log,
                    stderr=log,
                    cwd=self._cwd,
                    env=self._environment,
                    start_new_session=True,
                )
        except OSError as error:
            self._start_error = error
            return
        finally:
            self._started.set()
        pid = self._process.pid
        # Not reaped yet: the number cannot be taken by another process while its group is killed.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        _kill_group(pid, signal.SIGKILL)
        self._process.wait()
        self._ended.set()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def stdout(self) -> BinaryIO:
        assert self._process is not None
        assert self._process.stdout is not None
        return cast("BinaryIO", self._process.stdout)

    @property
    def exit_code(self) -> int | None:
        """As Popen's: negative = killed by that signal; None = still running."""
        return self._process.returncode if self._process is not None and self._ended.is_set() else None

    def alive(self) -> bool:
        return not self._ended.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended within the time."""
        return self._ended.wait(timeout_s)

    def process_ids(self) -> tuple[int, ...]:
        """The child and every process of its session, by /proc; empty once it has ended."""
        return session_members(self.pid) if self.alive() else ()

    def log_tail(self) -> str:
        """The last lines of its standard error."""
        with self.log_path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - LOG_TAIL_BYTES))
            return log.read().decode(errors="replace")

    def killed_for_memory(self) -> bool:
        """Whether it ended by SIGKILL while the kernel killed for memory, or said that memory ran out."""
        if self.exit_code == -signal.SIGKILL and _memory_kills() > self._kills_before:
            return True
        return says_out_of_memory(self.log_tail())

    def close(self) -> None:
        """End the whole group: SIGTERM, after a grace SIGKILL. Safe to call twice."""
        if self.alive():
            _kill_group(self.pid, signal.SIGTERM)
            if not self._ended.wait(TERMINATE_GRACE_S):
                _kill_group(self.pid, signal.SIGKILL)
                self._ended.wait()
        self._keeper.join()
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()


def session_members(session_id: int) -> tuple[int, ...]:
    """Processes of a session, its leader first."""
    members = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        if int(fields[3]) == session_id and fields[0] != "Z":
            members.append(int(entry.name))
    return tuple(sorted(members, key=lambda pid: (pid != session_id, pid)))


def _kill_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return  # the group is gone; the kernel answers EPERM when only zombies are left


def _memory_kills() -> int:
    """How often the kernel has killed for memory, of this host and of this control group."""
    kills = 0
    for path in (Path("/proc/vmstat"), Path("/sys/fs/cgroup/memory.events")):
        try:
            lines = path.read_text().splitlines()
        except OSError:
            continue
        kills += sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return kills
