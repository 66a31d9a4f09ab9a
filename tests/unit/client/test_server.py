"""Where a request goes, and what is in it."""

from __future__ import annotations

import pytest

from paredown.client.server import Server
from paredown.client.streaming import SendSettings, open_session, send
from paredown.errors import UserError
from paredown.records.dialect import Dialect
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.scripted_server import (
    answer,
    serving,
)

REQUEST = TrafficRequest("r", (Message("user", "hello"),), 2)
SETTINGS = SendSettings(ignore_eos=True, timeout_s=20.0)
GOOD = answer([1, 2])


@pytest.mark.parametrize("given", ["/v1", "/v1/", "", "/", "/v1/chat/completions"])
async def test_the_url_may_have_its_v1_or_not(given: str) -> None:
    async with serving(lambda _: GOOD) as server, open_session(Server(server.url + given, "", "m")) as session:
        await send(session, REQUEST, 0, SETTINGS)

    assert server.received[0].path == "/v1/chat/completions"
    assert server.received[0].headers["host"] == server.url.removeprefix("http://")


async def test_fields_that_the_server_does_not_take_are_left_out() -> None:
    small = Dialect(
        ignore_eos=False, return_token_ids=False, include_usage=False, max_tokens_field="max_completion_tokens"
    )
    async with serving(lambda _: GOOD) as server, open_session(Server(server.url, "", "m", dialect=small)) as session:
        await send(session, REQUEST, 0, SETTINGS)

    assert set(server.received[0].body) == {"model", "messages", "max_completion_tokens", "temperature", "stream"}


@pytest.mark.parametrize("url", ["ftp://host", "host:8000", "http://", "http://host:99999"])
async def test_a_url_of_no_server_is_the_users_mistake(url: str) -> None:
    with pytest.raises(UserError, match="http://127"):
        async with open_session(Server(url, "", "m")):
            pass


async def test_a_key_with_the_end_of_its_line_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="API key"):
        async with open_session(Server("http://127.0.0.1:1", "secret\n", "m")):
            pass
