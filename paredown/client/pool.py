"""Connections to one server, kept open between requests.

Setting one up (0.1 to 0.3 ms on one machine; one round trip to another, two or three with TLS) falls between the
moment when a request is due and the moment when it is sent: it counts in the latency from due and in the send delay,
not in the latency from sent. To keep it out of both, `prepare` opens connections before a load begins and, in a closed
loop on a server that closes them, before the next request is due (it then shows in the throughput alone); and where
setting one up takes long a few are kept ready.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import math
import ssl
import time
from collections.abc import Callable
from types import TracebackType

from paredown.client.connection import Connection
from paredown.client.server import Server, address, tls_context
from paredown.errors import UserError

CONNECT_TIMEOUT_S = 10.0
BUFFER_BYTES = 64 * 1024
# A connection that says nothing for longer may have been forgotten by a router on the way.
IDLE_S = 30.0
# No more at once: a server's queue of unaccepted connections is often 100 long, and what does not fit waits a second.
OPENING_AT_ONCE = 32
# Spare ones would each occupy a thread of some servers; they pay only where setting one up takes long, which on this
# very machine means no more than that it was busy.
SPARE, SPARE_ABOVE_S = 4, 0.002


def is_this_machine(address: str) -> bool:
    """Whether an IP address is a loopback one."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class ConnectError(Exception):
    """No connection: `failure` is its class (`refused` or `bad_certificate`)."""

    def __init__(self, failure: str, detail: str) -> None:
        super().__init__(detail)
        self.failure, self.detail = failure, detail


class Pool:
    """Use as an async context manager inside the event loop that sends. Raises UserError for a wrong URL or CA file."""

    def __init__(self, server: Server, now_ns: Callable[[], int]) -> None:
        self._address, self._tls, self._now_ns = address(server), tls_context(server), now_ns
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._set_up_s = math.inf
        self._closed = False

    async def __aenter__(self) -> Pool:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        for connection in self._all:
            connection.close()
        # Aborted transports tell their protocols in the next turn of the loop.
        await asyncio.sleep(0)

    async def prepare(self, count: int) -> None:
        """Open connections until `count` are ready, or as many as the server accepts."""
        at_once = asyncio.Semaphore(OPENING_AT_ONCE)

        async def one() -> None:
            async with at_once:
                await self._open_idle()

        await asyncio.gather(*(one() for _ in range(count - sum(c.is_ready for c in self._idle))))
        self._keep_spare()
        await asyncio.gather(*self._opening)

    def idle(self) -> Connection | None:
        """A connection that is ready, the one used last; None when there is none."""
        oldest_ns = self._now_ns() - int(IDLE_S * 1e9)
        while self._idle:
            connection = self._idle.pop()
            if connection.is_ready and connection.idle_since_ns >= oldest_ns:
                self._keep_spare()
                return connection
            connection.close()
        return None

    def give(self, connection: Connection) -> None:
        """Take a connection back; one that cannot be used again is forgotten."""
        if connection.is_ready:
            self._idle.append(connection)

    async def open(self) -> Connection:
        """A new connection. Raises ConnectError."""
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                _, connection = await loop.create_connection(
                    lambda: Connection(self._now_ns, self._buffer, self._forget),
                    self._address.host,
                    self._address.port,
                    ssl=self._tls,
                )
        except ssl.SSLCertVerificationError as error:
            raise ConnectError("bad_certificate", error.verify_message or str(error)) from error
        except TimeoutError as error:
            raise ConnectError("refused", f"No connection within {CONNECT_TIMEOUT_S:g} s.") from error
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise UserError(
                    f"{len(self._all)} connections are open and this process may have no more files: raise the limit "
                    "with `ulimit -n 65536`, or send less at once."
                ) from error
            raise ConnectError("refused", f"{type(error).__name__}: {error}") from error
        took_s = 0.0 if is_this_machine(connection.peer_host) else time.monotonic() - started
        self._set_up_s = min(self._set_up_s, took_s)
        self._all.add(connection)
        return connection

    async def _open_idle(self) -> None:
        try:
            connection = await self.open()
        except ConnectError:
            # Whoever needs it next tries again, and then it is a failure of that request.
            return
        connection.idle_since_ns = self._now_ns()
        self._idle.append(connection)

    def _keep_spare(self) -> None:
        if self._closed or not SPARE_ABOVE_S < self._set_up_s < math.inf:
            return
        for _ in range(SPARE - len(self._idle) - len(self._opening)):
            task = asyncio.get_running_loop().create_task(self._open_idle())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    def _forget(self, connection: Connection) -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
            self._keep_spare()
