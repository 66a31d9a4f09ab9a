"""The worker's side of `environments.worker`: die with the parent, report progress, classify what went wrong.

Standard library only: it runs in isolated environments too.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paredown.errors import DiskFullError, TechniqueOutOfMemory, UserError
from paredown.hosts.failures import says_out_of_memory
from paredown.hosts.parent_death import die_with_parent

Report = Callable[[float, str], None]
Act = Callable[[Mapping[str, Any], Report], Mapping[str, Any]]

DISK_FULL_WORDS = ("no space left on device", "os error 28")


def run(act: Act) -> int:
    """Carry out the work that the JSON file in `sys.argv[1]` describes; exit status 0 when it was done.

    Messages go to standard output, one JSON object a line: progress, then `done` or `failed`. Whatever libraries
    print goes to standard error, which is the log.
    """
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    die_with_parent(spec["parent_pid"])
    messages = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(messages, "w", encoding="utf-8", buffering=1) as pipe:

        def say(**message: Any) -> None:
            pipe.write(json.dumps(message) + "\n")

        def report(fraction: float, what: str) -> None:
            say(event="progress", fraction=min(max(float(fraction), 0.0), 1.0), what=what)

        try:
            result = act(spec["work"], report)
        except BaseException as error:  # noqa: BLE001 - the process edge: the parent gets the class and the traceback
            say(event="failed", kind=kind_of(error), message=_sentence(error), traceback=traceback.format_exc())
            return 1
        say(event="done", result=result)
    return 0


def kind_of(error: BaseException) -> str:
    """`memory`, `disk`, `user`, `import` or `other`. Libraries often say so in words only."""
    seen: BaseException | None = error
    while seen is not None:
        words = str(seen).lower()
        if isinstance(seen, MemoryError | TechniqueOutOfMemory) or says_out_of_memory(words):
            return "memory"
        if isinstance(seen, DiskFullError) or any(w in words for w in DISK_FULL_WORDS):
            return "disk"
        if isinstance(seen, OSError) and seen.errno in (errno.ENOSPC, errno.EDQUOT):
            return "disk"
        seen = seen.__cause__ or seen.__context__
    if isinstance(error, UserError):
        return "user"
    return "import" if isinstance(error, ImportError) else "other"


def _sentence(error: BaseException) -> str:
    if isinstance(error, UserError):
        return str(error)
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
