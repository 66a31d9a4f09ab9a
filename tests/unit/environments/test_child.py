"""What went wrong in a worker, in one word."""

from __future__ import annotations

import errno

import pytest

from paredown.environments.child import kind_of
from paredown.errors import TechniqueOutOfMemory, UserError


def caused_by(cause: Exception) -> Exception:
    error = RuntimeError("could not save")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), "memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate"), "memory"),
        (TechniqueOutOfMemory("said so"), "memory"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "disk"),
        (caused_by(OSError(errno.EDQUOT, "Quota exceeded")), "disk"),
        (UserError("say it otherwise"), "user"),
        (ModuleNotFoundError("No module named 'x'"), "import"),
        (ValueError("a bug"), "other"),
        (OSError(errno.EACCES, "Permission denied"), "other"),
    ],
)
def test_errors_are_classed_by_what_they_are_or_say(error: Exception, kind: str) -> None:
    assert kind_of(error) == kind
