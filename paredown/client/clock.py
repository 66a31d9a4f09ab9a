"""The real clock: monotonic, comparable between the processes of one host."""

from __future__ import annotations

import asyncio
import time


class MonotonicClock:
    """`time.monotonic_ns`, the clock that engine hosts stamp with as well."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    async def sleep_until_ns(self, due_ns: int) -> None:
        """Returns at once when `due_ns` has passed."""
        remaining = due_ns - time.monotonic_ns()
        if remaining > 0:
            await asyncio.sleep(remaining / 1e9)
