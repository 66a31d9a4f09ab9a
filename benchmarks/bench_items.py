"""Items per second on likelihood tasks: paredown's reference engine beside lm-evaluation-harness (`hf`), one run.

    python benchmarks/bench_items.py --lm-eval PYTHON [--items N] [--dtype float32|bfloat16] [--threads N]

PYTHON is the interpreter of an environment with `lm_eval[hf]`. Both get the same items (the built-in ones that compare
choices, N taken evenly; 0 = all), the same checkpoint, data type and threads. The peer runs with each batch size and
its best one counts; its clock covers scoring alone, ours covers everything after the start (tokenizing, HTTP, scores).
Wanted: at least 3 times as many items a second, and the same scores but for floating-point noise.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import psutil

from paredown import registry
from paredown.evaluate import answers, golden
from paredown.evaluate.answers import BatchPolicy
from paredown.hosts import launch
from paredown.models import artifact as artifacts
from paredown.models import describe as describe_model
from paredown.models import source
from paredown.records.candidate import Candidate, Rung
from paredown.records.golden import Evaluation, GoldenItem
from paredown.spec.schema import default_cache

PEER = Path(__file__).with_name("items_peer.py")
BATCH_SIZES = (1, 4, 8, 16, 32, 64)
WANTED = 3.0
MEMORY_SHARE = 0.6
NOISE = {"float32": 1e-3, "bfloat16": 0.5}
"""Largest difference of a log-probability (nats, sum over the choice) that rounding explains; bf16 keeps 8 bits."""


def chosen(count: int) -> tuple[GoldenItem, ...]:
    """Items with choices, evenly from the built-in set."""
    items = [i for i in golden.load(["builtin"]).items if registry.scorer(i.scorer).likelihood and i.messages]
    if not count or count >= len(items):
        return tuple(items)
    return tuple(items[place * len(items) // count] for place in range(count))


def ours(path: Path, items: tuple[GoldenItem, ...], dtype: str, threads: int) -> Evaluation:
    facts = describe_model.facts(path)
    made = artifacts.describe(path, format="hf", parameters=facts.parameters)
    engine = registry.engine("transformers")
    options = {"dtype": dtype, "threads": threads, "attention": "sdpa"}
    candidate = Candidate("baseline", Rung.BASELINE, engine.name, options, {"main": made})
    with (
        tempfile.TemporaryDirectory() as work,
        launch.start(engine, candidate, Path(work), timeout_s=300.0) as running,
    ):
        answers.run(running, items[:8], candidate="warm", split="all", level=engine.scoring)
        return answers.run(
            running,
            items,
            candidate="ours",
            split="all",
            level=engine.scoring,
            policy=BatchPolicy(batch_items=len(items)),
        )


def theirs(
    python: str, path: Path, items: tuple[GoldenItem, ...], dtype: str, threads: int, sizes: list[int]
) -> dict[str, object]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    requests = []
    for item in items:
        messages = [message.plain for message in item.messages]
        context = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        requests += [(context, choice) for choice in item.choices]
    asked = {
        "model": str(path),
        "dtype": dtype,
        "threads": threads,
        "batch_sizes": sizes,
        "requests": requests,
        "memory_bytes": int(MEMORY_SHARE * psutil.virtual_memory().available),
    }
    done = subprocess.run(
        [python, str(PEER)], input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=3600
    )
    if done.returncode:
        sys.exit(f"The peer ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm-eval", required=True, metavar="PYTHON")
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-sizes", default=",".join(map(str, BATCH_SIZES)))
    asked = parser.parse_args()
    path = source.resolve("demo", cache=default_cache())
    items = chosen(asked.items)
    print(f"{len(items)} items, {sum(len(i.choices) for i in items)} choices, {asked.dtype}, {asked.threads} threads")
    print("slices:", dict(Counter(item.slice for item in items)))
    peer = theirs(
        asked.lm_eval, path, items, asked.dtype, asked.threads, [int(size) for size in asked.batch_sizes.split(",")]
    )
    made = ours(path, items, asked.dtype, asked.threads)
    runs = peer["runs"]
    assert isinstance(runs, list)
    for run in runs:
        speed = f"{len(items) / run['seconds']:7.1f} items/s" if "seconds" in run else run["failure"]
        print(f"lm_eval {peer['version']} hf, batch {run['batch_size']:>3}: {speed}")
    best = min((run for run in runs if "seconds" in run), key=lambda run: run["seconds"])
    ratio = best["seconds"] / made.seconds
    print(
        f"paredown: {len(items) / made.seconds:7.1f} items/s ({made.prefill_tokens:,} tokens computed), "
        f"{ratio:.1f} times the peer's best"
    )
    flat = [value for answer in made.answers for value in answer.choice_logprobs]
    off = [abs(a - b) for a, b in zip(flat, best["logprobs"], strict=True)]
    slices = [item.slice for item in items for _ in item.choices]
    worst = {name: max(d for d, own in zip(off, slices, strict=True) if own == name) for name in sorted(set(slices))}
    print("largest difference by slice:", ", ".join(f"{name} {value:.2g}" for name, value in worst.items()))
    right = compare(items, made, best["logprobs"])
    print(
        f"log-probabilities: largest difference {max(off):.2g} nats, mean {sum(off) / len(off):.2g}; "
        f"right answers {right[0]} here, {right[1]} there, {right[2]} items differ"
    )
    return 0 if ratio >= WANTED and max(off) <= NOISE[asked.dtype] else 1


def compare(items: tuple[GoldenItem, ...], made: Evaluation, logprobs: list[float]) -> tuple[int, int, int]:
    """Items right here, right there, and judged differently, by the largest sum."""
    place = here = there = differing = 0
    for item, answer in zip(items, made.answers, strict=True):
        count = len(item.choices)
        given = logprobs[place : place + count]
        place += count
        mine = answer.choice_logprobs.index(max(answer.choice_logprobs)) == int(item.answer)
        other = given.index(max(given)) == int(item.answer)
        here, there, differing = here + mine, there + other, differing + (mine != other)
    return here, there, differing


if __name__ == "__main__":
    sys.exit(main())
