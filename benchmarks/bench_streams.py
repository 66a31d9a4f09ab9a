"""Whether the client holds 1,000 streams of 5 tokens/s each for 60 s without losing a token.

    python benchmarks/bench_streams.py [--streams 1000] [--tokens-per-s 5] [--seconds 60] [--at-once]

Streams start over two seconds (with --at-once: all in one moment, and then all tokens come in one moment too) and all
of them are open for --seconds. Each token has an id, so every one that the server wrote is looked for in the client's
record by its id. Exit status 1 when a line is missed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from load_child import (
    ClientOrders,
    Line,
    allow_many_connections,
    ms,
    p,
    print_lines,
    print_machine,
    run_client,
)

from paredown.records.events import RequestEvents
from paredown.testing import timed_server_errors as errors
from paredown.testing.timed_server import RequestStamps, serving_timed
from paredown.testing.timed_server_answers import TimedAnswer

START_S = 2.0


def all_open_s(stamps: Sequence[RequestStamps]) -> float:
    """How long all streams were open at once, by the server: last receipt to the first end; 0 = one never spoke."""
    if not stamps or not all(one.written_ns for one in stamps):
        return 0.0
    return (min(one.written_ns[-1] for one in stamps) - max(one.received_ns for one in stamps)) / 1e9


def failures(events: Sequence[RequestEvents]) -> str:
    kinds = [one.failure for one in events if one.failure]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds))) or "none"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--tokens-per-s", type=float, default=5.0, help="of each stream")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--at-once", action="store_true")
    load = parser.parse_args(arguments)
    start_s = 0.0 if load.at_once else START_S
    # Half a second more: sending takes its time, and the streams are to be open together for all of --seconds.
    tokens = math.ceil((load.seconds + start_s + 0.5) * load.tokens_per_s)
    gap_ms = 1e3 / load.tokens_per_s
    answer = TimedAnswer(ttft_ms=gap_ms, itl_ms=gap_ms, tokens=tokens)
    print_machine()
    print(f"{load.streams} streams of {load.tokens_per_s:g} tokens/s, {tokens} tokens each")
    allow_many_connections()  # the server inherits it
    with serving_timed(answer) as server:
        shape = "closed_loop" if load.at_once else "constant_rate"
        options = {"concurrency": load.streams} if load.at_once else {"rate": load.streams / START_S}
        timeout_s = load.seconds + start_s + 60
        client = run_client(ClientOrders(server.url, load.streams, shape, options, tokens, timeout_s))
        record = server.record()
    found = errors.account(client.events, record.requests)
    open_s = all_open_s(record.requests) if len(record.requests) == load.streams else 0.0
    lost = load.streams * tokens - found.written + found.lost + found.surplus
    late_s = errors.server_lateness_s(record.requests)
    print(
        f"arrival − write p50 {ms(p(found.delays_s, 50))}, p99 {ms(p(found.delays_s, 99))}, "
        f"longest {ms(p(found.delays_s, 100))}; server's lateness p99 {ms(p(late_s, 99))}"
    )
    print(
        f"CPU: client {client.finished.cpu_s / client.finished.wall_s:.0%} of a core (start and export included), "
        f"{client.finished.cpu_s / max(1, found.written) * 1e6:.0f} µs a token; "
        f"server {record.cpu_s / client.finished.wall_s:.0%}"
    )
    print(f"failures: {failures(client.events)}")
    return print_lines(
        [
            Line("tokens lost or too many", "0", f"{lost} of {load.streams * tokens}", lost == 0),
            Line("all streams open at once", f"≥ {load.seconds:g} s", f"{open_s:.1f} s", open_s >= load.seconds),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
