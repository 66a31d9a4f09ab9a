from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from paredown.contracts import Batching
from paredown.hosts import server, tokenizer
from paredown.hosts.scheduler import Scheduler
from paredown.hosts.server import Service
from paredown.testing import fake_models
from paredown.testing.stepped_engine import SteppedEngine

KEY = "the key"


class Running:
    """The server in this event loop around an engine that is let through step by step."""

    def __init__(self, engine: SteppedEngine, service: Service, port: int) -> None:
        self.engine, self.service, self.port = engine, service, port
        self.url = f"http://127.0.0.1:{port}"
        self.session = aiohttp.ClientSession(headers={"Authorization": f"Bearer {KEY}"})

    async def step(self, count: int = 1) -> None:
        await asyncio.to_thread(self.engine.step_through, count)

    def completion(self, **body: Any) -> Any:
        whole = {"model": "m", "prompt": [65], "max_tokens": 3, "stream": True, "return_token_ids": True} | body
        return self.session.post(f"{self.url}/v1/completions", json=whole)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    engine = SteppedEngine()
    scheduler = Scheduler(lambda: engine, batching=Batching.CONTINUOUS, max_batch=4, on_fatal=lambda error: None)
    scheduler.start()
    tokens = tokenizer.load(fake_models.make(tmp_path / "m", context_length=1000))
    service = Service(scheduler, tokens, "m", KEY, 1_700_000_000)
    listener = await server.listen(service, "127.0.0.1", 0)
    here = Running(engine, service, listener.sockets[0].getsockname()[1])
    yield here
    await here.session.close()
    listener.close()
    engine.run_freely()
    await asyncio.to_thread(scheduler.close)


async def next_event(response: aiohttp.ClientResponse) -> Mapping[str, Any]:
    line = await response.content.readuntil(b"\n\n")
    return json.loads(line.removeprefix(b"data: "))


async def test_the_first_chunk_is_on_the_wire_before_the_second_token_is_computed(running: Running) -> None:
    asking = asyncio.ensure_future(running.completion().__aenter__())
    await running.step()
    response = await asking
    first = await next_event(response)
    assert first["choices"][0]["token_ids"] == [1]
    assert running.engine.steps == 1
    response.close()


async def test_a_stream_has_a_chunk_for_each_token_and_ends_with_usage(running: Running) -> None:
    running.engine.run_freely()
    async with running.completion() as response:
        text = (await response.read()).decode()
    *events, done, end = text.split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert (done, end) == ("data: [DONE]", "")
    assert [chunk["choices"][0]["token_ids"] for chunk in chunks] == [[1], [2], [3]]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "length"]
    assert chunks[-1]["usage"] == {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
    stamps = [chunk["paredown"]["engine_ns"] for chunk in chunks]
    assert stamps == sorted(stamps)


async def test_a_client_that_goes_away_is_cancelled(running: Running) -> None:
    asking = asyncio.ensure_future(running.completion(max_tokens=500).__aenter__())
    await running.step()
    response = await asking
    await next_event(response)
    response.close()
    # Its connection is closed, but the loop has to see it: steps are let through until the engine has been told.
    async with asyncio.timeout(20):
        while not any(line.startswith("cancel") for line in running.engine.log):
            running.engine.allow(1)
            await asyncio.sleep(0)
    assert running.engine.steps < 500


async def test_a_client_that_does_not_read_stops_nobody_else(running: Running) -> None:
    slow = socket.create_connection(("127.0.0.1", running.port))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = json.dumps({"prompt": [65], "max_tokens": 300, "stream": True, "model": "m"}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    with slow:
        await asyncio.to_thread(slow.sendall, head.encode() + body)
        running.engine.run_freely()
        async with running.completion(max_tokens=5) as response:
            assert b"[DONE]" in await response.read()
        received = await asyncio.to_thread(_read_all, slow)
    assert received.count(b"data: ") == 301
    assert b'"usage"' in received


def _read_all(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"0\r\n\r\n"):
        received += connection.recv(65536)
    return received


async def test_a_whole_answer_comes_in_one_piece(running: Running) -> None:
    running.engine.run_freely()
    async with running.completion(stream=False) as response:
        body = await response.json()
    assert body["choices"][0]["token_ids"] == [1, 2, 3]
    assert body["choices"][0]["text"] == "\x01\x02\x03"
    assert body["usage"]["completion_tokens"] == 3


async def test_one_connection_serves_request_after_request(running: Running) -> None:
    running.engine.run_freely()
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    request = f"GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode()
    writer.write(request + request)
    for _ in range(2):
        assert (await reader.readline()).split()[1] == b"200"
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        assert json.loads(await reader.readexactly(length))["data"][0]["id"] == "m"
    writer.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "key", "status"),
    [
        ("POST", "/v1/completions", '{"prompt": "x"}', "wrong", 401),
        ("GET", "/v1/models", None, "wrong", 401),
        ("POST", "/tokenize", '{"prompt": "x"}', "wrong", 401),
        ("GET", "/health", None, "wrong", 200),
        ("POST", "/v1/completions", "{", KEY, 400),
        ("POST", "/v1/completions", '{"prompt": [999999], "max_tokens": 5000}', KEY, 400),
        ("POST", "/v1/chat/completions", '{"messages": []}', KEY, 400),
        ("GET", "/v1/completions", None, KEY, 405),
        ("GET", "/nothing", None, KEY, 404),
    ],
)
async def test_a_request_that_is_wrong_gets_openais_error(
    running: Running, method: str, path: str, body: str | None, key: str, status: int
) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with running.session.request(method, running.url + path, data=body, headers=headers) as response:
        answer = await response.json()
        assert response.status == status
    if status != 200:
        assert set(answer["error"]) == {"message", "type", "code"}
        assert answer["error"]["message"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /v1/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000, 431),
    ],
)
async def test_what_is_no_http_gets_an_answer_and_the_connection_is_closed(
    running: Running, sent: bytes, status: int
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(sent)
    answer = await reader.read()
    assert answer.split()[1] == str(status).encode()
    writer.close()


async def test_a_failure_before_the_first_token_is_an_http_error(running: Running) -> None:
    def fail(step: int) -> None:
        raise MemoryError

    running.engine.before_step = fail
    running.engine.run_freely()
    async with running.completion() as response:
        body = await response.json()
        assert response.status == 500
    assert body["error"]["code"] == "out_of_memory"


async def test_a_failure_after_the_first_token_is_an_error_chunk_without_done(running: Running) -> None:
    def fail(step: int) -> None:
        if step == 2:
            raise RuntimeError("kernel fault")

    running.engine.before_step = fail
    running.engine.run_freely()
    async with running.completion() as response:
        events = (await response.read()).decode().split("\n\n")
    assert json.loads(events[0].removeprefix("data: "))["choices"][0]["token_ids"] == [1]
    assert json.loads(events[1].removeprefix("data: "))["error"]["message"] == "RuntimeError: kernel fault"
    assert "[DONE]" not in "".join(events)
