"""No orphans: a child asks the kernel to be killed when its parent ends, even by SIGKILL.

Run as `python -m paredown.hosts.parent_death PARENT_PID PROGRAM ARGUMENTS…` it does so for a program that is not
ours: the request survives `exec`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int) -> None:
    """Ask for SIGKILL when the parent ends (Linux), and end at once when it is gone already.

    The kernel means the *thread* that started this process: `process.Process` keeps that thread alive.
    """
    if sys.platform != "linux":
        raise OSError("A process can be tied to its parent on Linux only.")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)


def main(arguments: list[str]) -> None:
    die_with_parent(int(arguments[0]))
    os.execvp(arguments[1], arguments[1:])  # noqa: S606  no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
