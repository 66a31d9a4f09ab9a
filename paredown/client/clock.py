"""The real clock: monotonic, comparable between the processes of one host."""

from __future__ import annotations

import asyncio
import time


class MonotonicClock:
    """`time.monotonic_ns`, the clock that engine hosts stamp with as well."""

    now_ns = staticmethod(time.monotonic_ns)

    async def sleep_until_ns(self, due_ns: int) -> None:
        """Gives way once even when `due_ns` has passed, so that what has arrived meanwhile is stamped."""
        await asyncio.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
