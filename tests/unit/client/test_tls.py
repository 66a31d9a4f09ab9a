"""A server is who its certificate says, or nothing is sent to it."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from paredown.client.server import Server
from paredown.client.streaming import SendSettings, open_session, send
from paredown.errors import UserError
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.scripted_server import (
    answer,
    chunked,
    serving,
)

REQUEST = TrafficRequest("r", (Message("user", "hello"),), 2)
SETTINGS = SendSettings(ignore_eos=True, timeout_s=20.0)
GOOD = answer([1, 2])


async def ask_over_tls(context: ssl.SSLContext, ca_file: Path | None) -> RequestEvents:
    async with (
        serving(lambda _: chunked(GOOD), keep_alive=True, tls=context) as server,
        open_session(Server(server.url, "", "m", ca_file)) as session,
    ):
        return await send(session, REQUEST, 0, SETTINGS)


async def test_a_certificate_of_a_named_authority_is_trusted(certificates) -> None:
    events = await ask_over_tls(certificates.server_context(), certificates.authority)

    assert (events.failure, len(events.chunks)) == ("", 2)


@pytest.mark.parametrize("named", [False, True])
async def test_a_certificate_of_nobody_known_has_its_own_class(certificates, named: bool) -> None:
    ca_file = certificates.another_authority if named else None
    events = await ask_over_tls(certificates.server_context(), ca_file)

    assert events.failure == "bad_certificate"
    assert "certificate" in events.detail


async def test_tls_to_a_server_without_it_is_refused_with_the_reason() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with open_session(Server(url, "", "m")) as session:
            events = await send(session, REQUEST, 0, SETTINGS)

    assert events.failure == "refused"
    assert "SSL" in events.detail


async def test_a_file_that_holds_no_authority_is_the_users_mistake(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    with pytest.raises(UserError, match=r"empty\.pem"):
        async with open_session(Server("https://127.0.0.1:1", "", "m", empty)):
            pass
