"""How far the client's TTFT and ITL are from a server's own clock at 200 requests/s, beside AIPerf and GuideLLM.

    python benchmarks/bench_load.py [--aiperf DIRECTORY] [--guidellm DIRECTORY] [--seconds 60] [--rate 200] …

The server has known delays and stamps every write itself. A plain socket asks it for answers at the same time: what
it sees late is the loopback's own jitter. The other tools run after that, one after another, each against a fresh
server; their own exports are compared with the same server times. DIRECTORY is the `bin` of an environment of their
own (python -m venv DIR; DIR/bin/pip install aiperf==0.13, or torch==2.13.0 guidellm==0.8.1).

Errors are absolute values, client − server. Processor time is that of the whole process tree from start to export.
Exit status 1 when a line is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import load_peers
from load_child import (
    ClientOrders,
    Finished,
    Line,
    ProbeOrders,
    allow_many_connections,
    ms,
    p,
    print_lines,
    print_machine,
    probing,
    run_client,
)
from load_peers import Peer, PeerOrders

from paredown.models import source
from paredown.spec.schema import default_cache
from paredown.testing import timed_server_errors as errors
from paredown.testing.timed_server import RequestStamps, ServerRecord, serving_timed
from paredown.testing.timed_server_answers import TimedAnswer
from paredown.testing.timed_server_errors import Seen

ALLOWED_ABOVE_JITTER_S = 0.002
ALLOWED_SEND_DELAY_S = 0.005
ALLOWED_SHARE_OF_CPU = 0.5
START_UP_S = 3.0


@dataclass(frozen=True)
class Figures:
    """One tool against the server. `stamps`: errors by the server's stamps; `delays`: by the delays asked for."""

    name: str
    sent: int
    lost: int
    sent_per_s: float
    cpu_ms_per_request: float
    server_share: float
    server_late_p99_s: float
    stamps: errors.Errors
    delays: errors.Errors


@dataclass(frozen=True)
class Own:
    """Our client's figures, and what only it and the probe can tell."""

    figures: Figures
    lost_tokens: int
    delivery_s: tuple[float, ...]
    send_delay_s: tuple[float, ...]
    jitter_s: tuple[float, ...]
    probe: errors.Errors


def figures(
    name: str,
    wanted: int,
    seen: Sequence[Seen],
    stamps: Sequence[RequestStamps],
    record: ServerRecord,
    finished: Finished,
    answer: TimedAnswer,
) -> Figures:
    """`stamps`: of this tool's requests, under the ids that it knows them by. An answer with tokens missing is lost."""
    if len(stamps) < 2:
        raise RuntimeError(f"{name} sent {len(stamps)} requests: nothing to compare")
    seen = [one for one in seen if len(one.gaps_s) in (0, answer.tokens - 1)]
    span_s = (stamps[-1].received_ns - stamps[0].received_ns) / 1e9
    return Figures(
        name=name,
        sent=len(stamps),
        lost=wanted - len(seen),
        sent_per_s=(len(stamps) - 1) / span_s,
        cpu_ms_per_request=finished.cpu_s / wanted * 1e3,
        server_share=record.cpu_s / (span_s + (answer.ttft_ms + answer.tokens * answer.itl_ms) / 1e3),
        server_late_p99_s=p(errors.server_lateness_s(stamps), 99),
        stamps=errors.by_stamps(seen, {one.id: one for one in stamps}),
        delays=errors.by_delays(seen, answer),
    )


def measure_own(answer: TimedAnswer, load: argparse.Namespace) -> Own:
    requests = round(load.rate * load.seconds)
    with serving_timed(answer) as server:
        orders = ClientOrders(server.url, requests, load.shape, {"rate": load.rate}, answer.tokens, load.seconds + 60)
        with probing(ProbeOrders(server.port, load.seconds + START_UP_S)) as probe:
            client = run_client(orders)
            probed = probe()
        record = server.record()
    stamps = [one for one in record.requests if not one.id.startswith("probe-")]
    meanwhile = {
        one.id: one
        for one in record.requests
        if one.id.startswith("probe-") and stamps[0].received_ns <= one.received_ns <= stamps[-1].received_ns
    }
    probed = tuple(one for one in probed if one.id in meanwhile)
    good = [one for one in client.events if not one.failure and one.chunks]
    account = errors.account(client.events, stamps)
    return Own(
        figures("paredown", requests, [errors.seen(one) for one in good], stamps, record, client.finished, answer),
        lost_tokens=account.lost + account.surplus + requests * answer.tokens - account.written,
        delivery_s=account.delays_s,
        send_delay_s=tuple((one.sent_ns - one.scheduled_ns) / 1e9 for one in client.events),
        jitter_s=errors.account(probed, list(meanwhile.values())).delays_s,
        probe=errors.by_stamps([errors.seen(one) for one in probed], meanwhile),
    )


def measure_peer(peer: Peer, bin_directory: Path, answer: TimedAnswer, load: argparse.Namespace) -> Figures:
    requests = round(load.rate * load.seconds)
    tokenizer = source.resolve("demo", cache=default_cache())
    with tempfile.TemporaryDirectory() as work, serving_timed(answer) as server:
        orders = PeerOrders(
            server.url,
            answer.model_name,
            tokenizer,
            load.rate,
            requests,
            load.shape == "poisson",
            answer.prompt_tokens,
            answer.tokens,
        )
        finished = load_peers.run(peer, bin_directory, orders, Path(work), timeout_s=load.seconds * 3 + 300)
        record = server.record()
        seen = peer.read(Path(work))
    return figures(peer.name, requests, seen, record.requests, record, finished, answer)


def print_table(tools: Sequence[Figures]) -> None:
    rows: list[tuple[str, list[str]]] = [
        ("requests received by the server", [str(tool.sent) for tool in tools]),
        ("requests lost", [str(tool.lost) for tool in tools]),
        ("requests/s received", [f"{tool.sent_per_s:.1f}" for tool in tools]),
        ("CPU a request", [f"{tool.cpu_ms_per_request:.2f} ms" for tool in tools]),
        ("CPU of the server, share of a core", [f"{tool.server_share:.0%}" for tool in tools]),
        ("server's lateness p99", [ms(tool.server_late_p99_s) for tool in tools]),
    ]
    for judge in ("stamps", "delays"):
        for what in ("ttft_s", "itl_s", "mean_itl_s"):
            values = [getattr(getattr(tool, judge), what) for tool in tools]
            name = {"ttft_s": "TTFT", "itl_s": "ITL of each token", "mean_itl_s": "ITL, mean a request"}[what]
            cells = [f"{ms(p(v, 50))} / {ms(p(v, 99))}" if v else "not exported" for v in values]
            rows.append((f"error of {name}, by {judge}, p50 / p99", cells))
    width = max(len(title) for title, _ in rows)
    print()
    print(" " * width, *(f"{tool.name:>20}" for tool in tools))
    for title, cells in rows:
        print(f"{title:{width}}", *(f"{cell:>20}" for cell in cells))


def lines(own: Own, peers: Sequence[Figures], requests: int) -> list[Line]:
    jitter_s, got = p(own.jitter_s, 99), own.figures
    limit_s = jitter_s + ALLOWED_ABOVE_JITTER_S
    lost = f"{got.lost} of {requests} requests, {own.lost_tokens} tokens"
    found = [Line("requests and tokens lost", "0", lost, got.lost == 0 and own.lost_tokens == 0)]
    for name, values in (("TTFT", got.stamps.ttft_s), ("ITL", got.stamps.itl_s)):
        error_s = p(values, 99)
        found.append(Line(f"error of {name} p99", f"≤ {ms(limit_s)}", ms(error_s), error_s <= limit_s))
    late_s = p(own.send_delay_s, 99)
    found.append(Line("send delay p99", f"≤ {ms(ALLOWED_SEND_DELAY_S)}", ms(late_s), late_s <= ALLOWED_SEND_DELAY_S))
    for what, title in (
        ("ttft_s", "error of TTFT p99, by delays"),
        ("mean_itl_s", "error of mean ITL p99, by delays"),
        ("itl_s", "error of each ITL p99, by delays"),
    ):
        rivals = {peer.name: p(getattr(peer.delays, what), 99) for peer in peers if getattr(peer.delays, what)}
        found.append(_against(title, p(getattr(got.delays, what), 99), rivals, 1.0, "ms"))
    cpu = {peer.name: peer.cpu_ms_per_request / 1e3 for peer in peers}
    found.append(_against("CPU a request", got.cpu_ms_per_request / 1e3, cpu, ALLOWED_SHARE_OF_CPU, "ms"))
    return found


def _against(title: str, got_s: float, rivals: dict[str, float], share: float, unit: str) -> Line:
    if not rivals:
        return Line(title, "a peer beside it", f"{got_s * 1e3:.2f} {unit}, and no peer gives it", None)
    best = min(rivals, key=rivals.__getitem__)
    wanted = f"≤ {rivals[best] * share * 1e3:.2f} {unit} ({'half of ' if share < 1 else ''}{best})"
    return Line(title, wanted, f"{got_s * 1e3:.2f} {unit}", got_s <= rivals[best] * share)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=200.0, help="requests per second")
    parser.add_argument("--shape", choices=("constant_rate", "poisson"), default="constant_rate")
    parser.add_argument("--ttft-ms", type=float, default=50.0)
    parser.add_argument("--itl-ms", type=float, default=20.0)
    parser.add_argument("--tokens", type=int, default=16)
    for peer in load_peers.PEERS:
        parser.add_argument(f"--{peer.package}", type=Path, metavar="DIRECTORY", help=f"bin of its own: {peer.install}")
    load = parser.parse_args(arguments)
    answer = TimedAnswer(ttft_ms=load.ttft_ms, itl_ms=load.itl_ms, tokens=load.tokens)
    allow_many_connections()  # the children inherit it
    print_machine()
    print(f"{load.shape}, {load.rate:g} requests/s for {load.seconds:g} s, {load.tokens} tokens a request")
    own = measure_own(answer, load)
    print(
        f"loopback's own jitter (a plain socket's arrival − the server's write, {len(own.jitter_s)} writes): "
        f"p50 {ms(p(own.jitter_s, 50))}, p99 {ms(p(own.jitter_s, 99))}; its error of TTFT p99 "
        f"{ms(p(own.probe.ttft_s, 99))}, of ITL p99 {ms(p(own.probe.itl_s, 99))}"
    )
    print(
        f"paredown: arrival − write p50 {ms(p(own.delivery_s, 50))}, p99 {ms(p(own.delivery_s, 99))}; "
        f"send delay p50 {ms(p(own.send_delay_s, 50))}, p99 {ms(p(own.send_delay_s, 99))}"
    )
    peers = []
    for peer in load_peers.PEERS:
        directory = getattr(load, peer.package)
        if directory is None:
            print(
                f"{peer.name} is left out: make an environment (python -m venv DIR; DIR/bin/{peer.install}) and add "
                f"--{peer.package} DIR/bin"
            )
            continue
        version = load_peers.installed_version(peer, directory)
        print(f"running {peer.name} {version} (the lines were set against {peer.version})", flush=True)
        peers.append(measure_peer(peer, directory, answer, load))
    print_table([own.figures, *peers])
    return print_lines(lines(own, peers, round(load.rate * load.seconds)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
