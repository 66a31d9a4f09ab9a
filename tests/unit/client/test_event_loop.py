from __future__ import annotations

import asyncio
import gc
import select
import weakref

import pytest

from paredown.client import event_loop
from paredown.errors import UserError


def test_an_error_of_ours_comes_out_of_its_group() -> None:
    async def fails() -> None:
        raise UserError("too many files")

    async def main() -> None:
        async with asyncio.TaskGroup() as outer:
            outer.create_task(nested())

    async def nested() -> None:
        async with asyncio.TaskGroup() as inner:
            inner.create_task(fails())

    with pytest.raises(UserError, match="too many files"):
        event_loop.run(main())


def test_another_error_stays_in_its_group() -> None:
    async def fails() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    with pytest.raises(ExceptionGroup):
        event_loop.run(main())


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="only epoll rounds to milliseconds")
def test_a_wait_is_handed_to_the_kernel_to_the_microsecond(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    real = select.select

    def watched(read: object, write: object, other: object, timeout: float) -> object:
        asked.append(timeout)
        return real(read, write, other, timeout)  # type: ignore[call-overload]

    monkeypatch.setattr(select, "select", watched)
    event_loop.run(asyncio.sleep(0.0123))

    assert any(0.0113 < timeout <= 0.0123 and timeout != round(timeout, 3) for timeout in asked)


class Ring:
    def __init__(self) -> None:
        self.itself = self


def test_old_objects_are_not_visited_while_a_load_runs() -> None:
    visited: list[int] = []

    def started(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            visited.append(info["generation"])

    with event_loop.without_long_pauses():
        gc.callbacks.append(started)
        kept = [[] for _ in range(200_000)]
        gc.callbacks.remove(started)

    assert len(kept) == 200_000
    assert set(visited) == {0, 1}


def test_what_was_set_for_the_load_is_set_back() -> None:
    before = gc.get_threshold()
    with event_loop.without_long_pauses():
        assert gc.get_freeze_count() > 0

    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_young_garbage_is_still_collected_while_a_load_runs() -> None:
    with event_loop.without_long_pauses():
        gone = weakref.ref(Ring())
        kept = [[] for _ in range(20_000)]
        assert gone() is None
    del kept
