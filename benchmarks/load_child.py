"""What the load benchmarks share: child processes whose processor time is counted, paredown's own client and a plain
socket as two of them, and the table of lines to be met.

Started as `python benchmarks/load_child.py client|probe FILE`, it is such a child: FILE holds its orders, and its
events replace them.
"""

from __future__ import annotations

import os
import pickle
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paredown import registry
from paredown.hosts.running import Endpoint, RunningEngine
from paredown.measure.load import SendSettings, drive
from paredown.records.events import ChunkEvent, RequestEvents
from paredown.records.figure import Options
from paredown.records.traffic import Message, TrafficRequest
from paredown.testing.timed_server_answers import FIRST_TOKEN_ID, TEXT

PROMPT = "Tell me in a few plain words what a load generator has to get right before its figures can be believed."


@dataclass(frozen=True)
class ClientOrders:
    """What paredown's client is to send: `requests` requests by a load shape."""

    url: str
    requests: int
    load_shape: str
    options: Options
    tokens: int
    timeout_s: float


@dataclass(frozen=True)
class ProbeOrders:
    """A plain socket sends one request after the other for `seconds`."""

    port: int
    seconds: float


@dataclass(frozen=True)
class Finished:
    """A child that has ended. `cpu_s`: user and system time of it and of all its descendants that it waited for."""

    exit_status: int
    cpu_s: float
    wall_s: float


@dataclass(frozen=True)
class Line:
    """One line to be met. `met` is None when it could not be measured."""

    what: str
    wanted: str
    got: str
    met: bool | None


@dataclass(frozen=True)
class Client:
    """What the client's process brought back."""

    events: tuple[RequestEvents, ...]
    finished: Finished


def counted(argv: Sequence[str], *, environment: Mapping[str, str], log: Path, timeout_s: float) -> Finished:
    """Run a command to its end, or end it and everything that it started after `timeout_s`."""
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
        )
        timer = threading.Timer(timeout_s, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Finished(process.returncode, used.ru_utime + used.ru_stime, time.monotonic() - started)


def run_client(orders: ClientOrders) -> Client:
    """Our client in a process of its own. Raises RuntimeError with its words when it fails."""
    with _orders("client", orders) as (argv, read):
        log = Path(argv[-1]).with_suffix(".log")
        finished = counted(argv, environment=os.environ, log=log, timeout_s=orders.timeout_s * 2)
        if finished.exit_status:
            raise RuntimeError(f"The client failed: {log.read_text()}")
        return Client(read(), finished)


@contextmanager
def probing(orders: ProbeOrders) -> Iterator[Callable[[], tuple[RequestEvents, ...]]]:
    """The probe beside something else; the function waits for its end and gives what it saw."""
    with _orders("probe", orders) as (argv, read), subprocess.Popen(argv) as process:

        def wait() -> tuple[RequestEvents, ...]:
            if process.wait():
                raise RuntimeError("The probe failed.")
            return read()

        try:
            yield wait
        finally:
            process.kill()


@contextmanager
def _orders(
    kind: str, orders: ClientOrders | ProbeOrders
) -> Iterator[tuple[list[str], Callable[[], tuple[RequestEvents, ...]]]]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "orders"
        path.write_bytes(pickle.dumps(orders))
        yield [sys.executable, __file__, kind, str(path)], lambda: pickle.loads(path.read_bytes())


def p(values: Sequence[float], percent: float) -> float:
    """Percentile of the absolute values; NaN for none."""
    return float(np.percentile(np.abs(values), percent)) if len(values) else float("nan")


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def print_lines(lines: Sequence[Line]) -> int:
    """Print wanted against got; gives the exit status: 1 when a line is missed."""
    words = {True: "met", False: "MISSED", None: "not measured"}
    width = max(len(line.what) for line in lines)
    wanted_width = max(len(line.wanted) for line in lines)
    print()
    for line in lines:
        print(f"{line.what:{width}}  wanted {line.wanted:{wanted_width}}  got {line.got}  [{words[line.met]}]")
    return int(any(line.met is False for line in lines))


def print_machine() -> None:
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f} before the start")


def allow_many_connections() -> None:
    """As many open files as the system lets this user have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def send_all(orders: ClientOrders) -> tuple[RequestEvents, ...]:
    """The client's part: paredown's own load path, as a trial uses it."""
    shape = registry.load_shape(orders.load_shape)
    requests = [
        TrafficRequest(f"r{index}", (Message("user", f"request=r{index} {PROMPT}"),), orders.tokens)
        for index in range(orders.requests)
    ]
    started_ns = time.monotonic_ns()
    with RunningEngine(Endpoint(orders.url, "", "timed"), process=None, started_ns=started_ns, startup=None) as running:
        return drive(
            running, shape, orders.options, requests, SendSettings(ignore_eos=True, timeout_s=orders.timeout_s)
        )


def probe(orders: ProbeOrders) -> tuple[RequestEvents, ...]:
    """The probe's part: blocking reads on one connection and nothing else, so what it sees late is the machine's."""
    phase = random.Random(0)
    end = time.monotonic() + orders.seconds
    found: list[RequestEvents] = []
    token = f'"content":"{TEXT}"'.encode()
    with socket.create_connection(("127.0.0.1", orders.port)) as line:
        while time.monotonic() < end:
            id_ = f"probe-{len(found)}"
            body = f'{{"stream": true, "messages": [{{"role": "user", "content": "request={id_}"}}]}}'.encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: probe\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            chunks: list[ChunkEvent] = []
            sent_ns = time.monotonic_ns()
            line.sendall(head + body)
            received = b""
            while not received.endswith(b"\r\n0\r\n\r\n"):
                received = line.recv(65536)
                arrived_ns = time.monotonic_ns()
                if not received:
                    raise ConnectionError("the server closed the probe's connection")
                for _ in range(received.count(token)):
                    chunks.append(ChunkEvent(arrived_ns, (FIRST_TOKEN_ID + len(chunks),)))
            n = len(chunks)
            found.append(RequestEvents(id_, sent_ns, sent_ns, tuple(chunks), arrived_ns, None, n, n, "length"))
            time.sleep(phase.uniform(0.0, 0.02))
    return tuple(found)


def main(kind: str, file: str) -> None:
    path = Path(file)
    orders = pickle.loads(path.read_bytes())
    path.write_bytes(pickle.dumps(send_all(orders) if kind == "client" else probe(orders)))


if __name__ == "__main__":
    main(*sys.argv[1:])
