"""Two other load generators against the same server: how they are started and where their exports keep the times."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from load_child import Finished, counted

from paredown.testing.timed_server_errors import Seen


@dataclass(frozen=True)
class PeerOrders:
    """The load to make. `tokenizer`: directory of the model whose tokenizer the tool counts with."""

    url: str
    model: str
    tokenizer: Path
    rate: float
    requests: int
    poisson: bool
    prompt_tokens: int
    tokens: int


@dataclass(frozen=True)
class Peer:
    """Another tool. `argv` and `read` get the directory that it works in."""

    name: str
    package: str
    version: str
    install: str
    argv: Callable[[Path, PeerOrders, Path], list[str]]
    read: Callable[[Path], list[Seen]]


def run(peer: Peer, bin_directory: Path, orders: PeerOrders, work: Path, timeout_s: float) -> Finished:
    """Run it to its end. Raises RuntimeError with the end of its log when it fails."""
    # Set, they make AIPerf take a tokenizer's directory for the name of a repository.
    environment = {k: v for k, v in os.environ.items() if k not in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")}
    log = work / "log"
    argv = peer.argv(bin_directory, orders, work)
    finished = counted(argv, environment=environment, log=log, timeout_s=timeout_s)
    if finished.exit_status:
        raise RuntimeError(f"{peer.name} ended with {finished.exit_status}: {log.read_text(errors='replace')[-2000:]}")
    return finished


def installed_version(peer: Peer, bin_directory: Path) -> str:
    code = f"import importlib.metadata as m; print(m.version({peer.package!r}))"
    done = subprocess.run([bin_directory / "python", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def _aiperf_argv(bin_directory: Path, orders: PeerOrders, work: Path) -> list[str]:
    return [
        str(bin_directory / "aiperf"),
        "profile",
        f"--model={orders.model}",
        f"--url={orders.url}",
        "--endpoint-type=chat",
        "--streaming",
        f"--tokenizer={orders.tokenizer}",
        f"--request-rate={orders.rate:g}",
        f"--arrival-pattern={'poisson' if orders.poisson else 'constant'}",
        f"--request-count={orders.requests}",
        f"--synthetic-input-tokens-mean={orders.prompt_tokens}",
        f"--output-tokens-mean={orders.tokens}",
        f"--artifact-dir={work}",
        "--ui=none",
    ]


def read_aiperf(work: Path) -> list[Seen]:
    """`profile_export.jsonl`: the gap before every chunk, and the mean; the id is that of its X-Request-ID header."""
    found = []
    with (work / "profile_export.jsonl").open() as lines:
        for line in lines:
            row = json.loads(line)
            metrics = row["metrics"]
            if "time_to_first_token" in metrics:  # else the request failed
                gaps = tuple(gap / 1e3 for gap in _ms(metrics, "inter_chunk_latency"))
                mean = _ms(metrics, "inter_token_latency") / 1e3
                ttft_s = _ms(metrics, "time_to_first_token") / 1e3
                found.append(Seen(row["metadata"]["x_request_id"], ttft_s, gaps, mean))
    return found


def _ms(metrics: Mapping[str, Mapping[str, object]], name: str) -> object:
    if metrics[name]["unit"] != "ms":
        raise ValueError(f"AIPerf's export gives {name} in {metrics[name]['unit']}, expected ms")
    return metrics[name]["value"]


def _guidellm_argv(bin_directory: Path, orders: PeerOrders, work: Path) -> list[str]:
    kind = "poisson" if orders.poisson else "constant"
    return [
        str(bin_directory / "guidellm"),
        "run",
        f"--backend=kind=openai_http,target={orders.url},model={orders.model}",
        f"--tokenizer=kind=hf_auto,model={orders.tokenizer}",
        f"--data=kind=synthetic_text,prompt_tokens={orders.prompt_tokens},output_tokens={orders.tokens}",
        f"--profile=kind={kind},rate={orders.rate:g}",
        f"--constraint=kind=max_requests,count={orders.requests}",
        f"--output=kind=json,path={work / 'export.json'}",
        "--disable-progress",
    ]


def read_guidellm(work: Path) -> list[Seen]:
    """Its JSON: one mean ITL a request. It sends no id, so the n-th request by start is the n-th that the server had
    (a swap of neighbours changes nothing that can be seen: the server treats them alike).
    """
    (benchmark,) = json.loads((work / "export.json").read_text())["benchmarks"]
    requests = sorted(
        (row for group in ("successful", "errored", "incomplete") for row in benchmark["requests"][group]),
        key=_started,
    )
    return [
        Seen(f"#{number}", row["time_to_first_token_ms"] / 1e3, (), row["inter_token_latency_ms"] / 1e3)
        for number, row in enumerate(requests)
        if row["info"]["status"] == "completed"
    ]


def _started(row: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> float:
    return row["info"]["timings"]["request_start"] or float("inf")


PEERS: Sequence[Peer] = (
    Peer("AIPerf", "aiperf", "0.13", "pip install aiperf==0.13", _aiperf_argv, read_aiperf),
    Peer(
        "GuideLLM",
        "guidellm",
        "0.8.1",
        "pip install torch==2.13.0 guidellm==0.8.1",
        _guidellm_argv,
        read_guidellm,
    ),
)
