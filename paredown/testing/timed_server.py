"""An OpenAI-compatible streaming server with known delays and a clock of its own: the oracle of a client's timings.

    python -m paredown.testing.timed_server --port 0 --ttft-ms 50 --itl-ms 20 --tokens 16

prints the port and serves until it is ended. It answers POST /v1/chat/completions, GET /health, /v1/models and
/stamps: when it had the last byte of each request and when it wrote each chunk, on the host's monotonic clock, which
no client has a hand in. A client that writes `request=ID` into a prompt finds its request by that id (else the header
X-Request-ID is taken, else the number in order of arrival).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import http.client
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown.hosts.parent_death import die_with_parent
from paredown.hosts.process import Process
from paredown.testing.timed_server_answers import TimedAnswer
from paredown.testing.timed_server_protocol import Connection, MicrosecondSelector, Service

BACKLOG = 4096


@dataclass(frozen=True)
class RequestStamps:
    """The server's own record of one request; monotonic ns.

    received_ns: when its last byte had been read
    planned_ns:  when each token was to be written, by the delays asked for
    written_ns:  when each token was written; shorter than `planned_ns` when the client went away
    role_ns:     when the role-only chunk was written; None = there was none
    """

    id: str
    received_ns: int
    planned_ns: tuple[int, ...]
    written_ns: tuple[int, ...]
    role_ns: int | None = None


@dataclass(frozen=True)
class ServerRecord:
    """All requests in order of arrival, and the processor time that the server has used."""

    requests: tuple[RequestStamps, ...]
    cpu_s: float


@dataclass(frozen=True)
class TimedServer:
    """A running one. `url` ends before `/v1`."""

    port: int
    process: Process

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def record(self) -> ServerRecord:
        """What it has noted so far."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", "/stamps")
            plain = json.loads(connection.getresponse().read())
        return ServerRecord(tuple(_stamps(row) for row in plain["requests"]), plain["cpu_s"])


def _stamps(row: dict[str, object]) -> RequestStamps:
    number, planned, written = row["tokens_from"], row["planned_ns"], row["written_ns"]
    assert isinstance(number, int)
    assert isinstance(planned, list)
    assert isinstance(written, list)
    received = row["received_ns"]
    assert isinstance(received, int)
    role_ns = written[0] if number and written else None
    return RequestStamps(str(row["id"]), received, tuple(planned[number:]), tuple(written[number:]), role_ns)


@contextlib.contextmanager
def serving_timed(answer: TimedAnswer) -> Iterator[TimedServer]:
    """The server in a process of its own, at a port that the kernel chose; ended when the context is left."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        process = Process(
            [sys.executable, "-m", "paredown.testing.timed_server", "--parent", str(os.getpid()), *_arguments(answer)],
            cwd=Path(directory),
            log=log,
            environment=os.environ,
        )
        try:
            first = process.stdout.readline().strip()
            if not first:
                raise RuntimeError(f"The timed server did not start: {process.log_tail()}")
            yield TimedServer(int(first), process)
        finally:
            process.close()


def _arguments(answer: TimedAnswer) -> list[str]:
    given = []
    for name, value in vars(answer).items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            given.append(option if value else f"--no-{option[2:]}")
        elif value is not None:
            given += [option, str(value)]
    return given


async def _serve(answer: TimedAnswer, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    service = Service(answer, loop)
    server = await loop.create_server(lambda: Connection(service), host, port, backlog=BACKLOG)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    # The record only grows: a collection would find nothing and stop the clock for milliseconds.
    gc.freeze()
    gc.disable()
    await ended.wait()
    server.close()


def main(arguments: Sequence[str]) -> None:
    standard = TimedAnswer()
    parser = argparse.ArgumentParser(prog="python -m paredown.testing.timed_server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 = one that the kernel chooses")
    parser.add_argument("--parent", type=int, help="process id with which this one is to end")
    for name in ("ttft_ms", "itl_ms", "jitter_ms"):
        parser.add_argument("--" + name.replace("_", "-"), type=float, default=getattr(standard, name))
    for name in ("tokens", "prompt_tokens", "seed"):
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=getattr(standard, name))
    for name in ("early_head", "token_ids", "usage", "done"):
        flag = "--" + name.replace("_", "-")
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=getattr(standard, name))
    parser.add_argument("--role-ms", type=float, help="write a role-only chunk after this time")
    parser.add_argument("--cached-tokens", type=int, help="prompt tokens that `usage` says came from the prefix cache")
    parser.add_argument("--model-name", default=standard.model_name)
    given = vars(parser.parse_args(arguments))
    host, port, parent = given.pop("host"), given.pop("port"), given.pop("parent")
    if parent is not None:
        die_with_parent(parent)
    try:
        answer = TimedAnswer(**given)
    except ValueError as error:
        parser.error(str(error))
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(MicrosecondSelector())) as runner:
        runner.run(_serve(answer, host, port))


if __name__ == "__main__":
    main(sys.argv[1:])
