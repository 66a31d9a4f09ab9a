from __future__ import annotations

import asyncio
import socket

from paredown.hosts.outlet import Outlet, Socket


async def test_what_the_socket_does_not_take_is_written_by_the_event_loop_in_order() -> None:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    ours.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
    outlet = Outlet(Socket(ours.fileno()), transport, loop)
    # The first one fits in part only.
    chunks = [b"0123456789" * 100_000, *(bytes([65 + index % 26]) * 1000 for index in range(200))]

    # The client reads nothing yet, and still no write waits for it.
    await asyncio.to_thread(lambda: [outlet.write(chunk) for chunk in chunks])

    reader, writer = await asyncio.open_connection(sock=theirs)
    assert await reader.readexactly(1_200_000) == b"".join(chunks)
    writer.close()
    transport.close()


async def test_writing_to_a_connection_that_is_gone_is_no_error() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
    direct = Socket(ours.fileno())
    outlet = Outlet(direct, transport, loop)
    theirs.close()
    outlet.write(b"x")
    direct.close()
    outlet.write(b"x")
    assert transport.get_write_buffer_size() == 0
    transport.close()
