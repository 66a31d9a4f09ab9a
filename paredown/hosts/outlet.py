"""Writes one response, a chunk a call, from the engine thread straight to the socket.

A chunk handed to the event loop waits until that thread runs, and some libraries hold the interpreter for a whole
step: the first chunk would leave after the second token was computed. A client that reads too slowly must not stop
the engine either: from the first write that does not fit the socket's buffer on, the event loop writes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading


class Socket:
    """A connection's socket for writes from other threads: its own descriptor, closed once, never under a write."""

    def __init__(self, descriptor: int) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = socket.socket(fileno=os.dup(descriptor))
        self._socket.settimeout(0)

    def send(self, data: bytes) -> int:
        """Bytes taken, 0 when the buffer is full. Raises OSError when the connection is gone."""
        with self._lock:
            if self._socket is None:
                raise ConnectionAbortedError
            try:
                return self._socket.send(data)
            except BlockingIOError:
                return 0

    def close(self) -> None:
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None


class Outlet:
    """The way out of one response. `write` is called by one thread at a time, in order."""

    def __init__(self, direct: Socket, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._direct, self._transport, self._loop = direct, transport, loop
        self._through_loop = transport.get_write_buffer_size() > 0

    def write(self, data: bytes) -> None:
        """A connection that is gone swallows what is written: the event loop notices and cancels."""
        if not self._through_loop:
            try:
                sent = self._direct.send(data)
            except OSError:
                return
            if sent == len(data):
                return
            self._through_loop = True
            data = data[sent:]
        self._loop.call_soon_threadsafe(self._transport.write, data)
