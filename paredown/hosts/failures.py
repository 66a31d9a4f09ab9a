"""What went wrong inside a host, classed: the same words on its standard output, its socket and over HTTP."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from paredown.errors import UserError

MEMORY_PHRASES = (
    "memoryerror",
    "not enough memory",
    "out of memory",
    "cannot allocate memory",
    "std::bad_alloc",
    "bad allocation",
)


@dataclass(frozen=True)
class Failure:
    """kind: `memory`, `import`, `artifact` (at loading), `request` (what was asked cannot be done) or `other`."""

    kind: str
    message: str
    traceback: str = ""


def of_loading(error: BaseException) -> Failure:
    if _is_memory(error):
        kind = "memory"
    elif isinstance(error, ImportError):
        kind = "import"
    elif isinstance(error, UserError | OSError | ValueError):
        kind = "artifact"
    else:
        kind = "other"
    return _failure(kind, error)


def of_request(error: BaseException) -> Failure:
    if _is_memory(error):
        return _failure("memory", error)
    return _failure("request" if isinstance(error, UserError) else "other", error)


def says_out_of_memory(text: str) -> bool:
    lowered = text.lower()
    return any(phrase in lowered for phrase in MEMORY_PHRASES)


def _is_memory(error: BaseException) -> bool:
    # Libraries say it with RuntimeError and the words of their allocator.
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and says_out_of_memory(str(error)))


def _failure(kind: str, error: BaseException) -> Failure:
    text = str(error) or type(error).__name__
    if isinstance(error, UserError):
        return Failure(kind, text)
    prefix = "Out of memory: " if kind == "memory" else f"{type(error).__name__}: "
    return Failure(kind, prefix + text, "".join(traceback.format_exception(error)))
