"""The event loop of a load: timers to the microsecond, and no long pause of the garbage collector."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import select
import selectors
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from paredown.errors import PareDownError

_Result = TypeVar("_Result")

# Young objects are looked after as ever (0.5 ms at most for 7,000 of them). The old ones, which grow with every event
# that is kept, are left until the load has ended, or until so many rounds of the young ones have gone by.
_YOUNG, _MIDDLE, _ROUNDS_WITHOUT_OLD = 700, 10, 100_000
# What `select` can watch; the descriptor of an epoll object that was made first is far below.
_LARGEST_SELECTABLE = 1024


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """`asyncio.run` on such a loop. An error of ours that a task of a group raised is raised by itself.

    Must not be called inside a running loop.
    """
    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            return runner.run(main)
    except BaseExceptionGroup as group:
        error = _first(group.subgroup(PareDownError))
        if error is None:
            raise
        raise error from group


def _first(group: BaseExceptionGroup[PareDownError] | None) -> PareDownError | None:
    while group is not None:
        error = group.exceptions[0]
        if not isinstance(error, BaseExceptionGroup):
            return error
        group = error
    return None


@contextlib.contextmanager
def without_long_pauses() -> Iterator[None]:
    """While open, the garbage collector does not visit what was there before, nor what has become old since."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _ROUNDS_WITHOUT_OLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _new_loop() -> asyncio.AbstractEventLoop:
    if hasattr(select, "epoll"):
        return asyncio.SelectorEventLoop(_PreciseSelector())
    return asyncio.new_event_loop()


if hasattr(select, "epoll"):

    class _PreciseSelector(selectors.EpollSelector):
        """epoll waits for whole milliseconds, rounded up; `select` on its descriptor waits for microseconds."""

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            if timeout is not None and timeout > 0 and self.fileno() < _LARGEST_SELECTABLE:
                select.select([self], [], [], timeout)
                timeout = 0
            return super().select(timeout)
