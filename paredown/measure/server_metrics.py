"""What a server tells of itself: its Prometheus page (`/metrics`) and the length of its context.

Read before and after an experiment, never during one. Names are vLLM's, SGLang's and
llama-server's; a figure that a server does not give is None, and never 0.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from paredown.client import ask
from paredown.client.server import Server
from paredown.measure.running import Running

TIMEOUT_S = 10.0
OK = 200

CACHE_CONFIG = "vllm:cache_config_info"
CAPACITY = ("sglang:max_total_num_tokens",)
CACHE_USE = (
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "sglang:token_usage",
    "llamacpp:kv_cache_usage_ratio",
)
PREEMPTIONS = ("vllm:num_preemptions_total", "vllm:num_preemptions", "sglang:num_retracted_requests_total")
PREFIX_HITS = ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits_total")
PREFIX_QUERIES = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries_total")

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*\s*=\s*"(?:[^"\\\n]|\\.)*"'
_SAMPLE = re.compile(
    rf"(?P<name>{_NAME})\s*(?:\{{\s*(?P<labels>(?:{_LABEL}\s*,?\s*)*)\}}\s*)?\s+(?P<value>\S+)(?:\s+(?P<time>-?\d+))?\s*"
)
_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\\n]|\\.)*)"')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


@dataclass(frozen=True)
class MetricSample:
    """One line of the page."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Scrape:
    """The page as it was at one moment. `missing`: why there is none, and then every figure of it is None."""

    samples: tuple[MetricSample, ...] = ()
    missing: str = ""

    def total(self, names: tuple[str, ...]) -> float | None:
        """Sum over the labels (engines, models) of the first of these names that is there; None = none is."""
        for name in names:
            values = [sample.value for sample in self.samples if sample.name == name and math.isfinite(sample.value)]
            if values:
                return math.fsum(values)
        return None

    def largest(self, names: tuple[str, ...]) -> float | None:
        """The largest over the labels, for shares that do not add up."""
        for name in names:
            values = [sample.value for sample in self.samples if sample.name == name and math.isfinite(sample.value)]
            if values:
                return max(values)
        return None


@dataclass(frozen=True)
class Growth:
    """Counters before and after an experiment. None = the server does not tell."""

    before: Scrape
    after: Scrape = field(default_factory=Scrape)

    def of(self, names: tuple[str, ...]) -> float | None:
        """How much a counter grew; None also when it shrank, because then the server was started again."""
        first, last = self.before.total(names), self.after.total(names)
        if first is None or last is None or last < first:
            return None
        return last - first

    @property
    def prefix_hit_rate(self) -> float | None:
        """Share of the prompt tokens that were looked up and found in the prefix cache."""
        hits, queries = self.of(PREFIX_HITS), self.of(PREFIX_QUERIES)
        return hits / queries if hits is not None and queries else None


def scrape(running: Running, *, timeout_s: float = TIMEOUT_S) -> Scrape:
    """The metrics of a server now; with the reason where it has none that can be read."""
    try:
        return Scrape(parse(_get(running, "/metrics", timeout_s)))
    except _NotThere as error:
        return Scrape(missing=f"the server has no readable /metrics ({error})")
    except ValueError as error:
        return Scrape(missing=f"the server's /metrics is no Prometheus page ({error})")


def parse(text: str) -> tuple[MetricSample, ...]:
    """Samples of the Prometheus text format, comments left out. Raises ValueError with the first line that is none."""
    samples = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        # OpenMetrics puts an exemplar behind the value of a bucket.
        found = _SAMPLE.fullmatch(stripped.split(" # {", 1)[0])
        if found is None:
            raise ValueError(f"line {number}: {stripped[:80]!r}")
        samples.append(MetricSample(found["name"], _labels(found["labels"] or ""), _value(found["value"], number)))
    return tuple(samples)


def kv_capacity_tokens(page: Scrape) -> int | None:
    """Positions that the KV caches of all engines behind the page hold together; None = it does not tell."""
    sizes = [_cache_tokens(sample.labels) for sample in page.samples if sample.name == CACHE_CONFIG]
    if sizes and all(size is not None for size in sizes):
        return sum(size for size in sizes if size is not None)
    told = page.total(CAPACITY)
    return round(told) if told else None


def context_window(running: Running, *, timeout_s: float = TIMEOUT_S) -> int | None:
    """Positions that one request may have by the server's own word: `max_model_len` of its model (vLLM, SGLang), or
    `n_ctx` of llama-server's /props. None = it does not tell.
    """
    models = _json(running, "/v1/models", timeout_s).get("data")
    entries = [entry for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []
    own = [entry for entry in entries if entry.get("id") == running.model_name] or entries[:1]
    for entry in own:
        if _is_count(entry.get("max_model_len")):
            return int(entry["max_model_len"])
    defaults = _json(running, "/props", timeout_s).get("default_generation_settings")
    size = defaults.get("n_ctx") if isinstance(defaults, dict) else None
    return int(size) if isinstance(size, int) and _is_count(size) else None


class _NotThere(Exception):
    """The page could not be read; says why."""


def _get(running: Running, path: str, timeout_s: float) -> str:
    server = Server(running.url, running.api_key, running.model_name, running.ca_file)
    reply = ask.get(server, path, timeout_s)
    if reply.status is None:
        raise _NotThere(": ".join(filter(None, (reply.failure, reply.words))) or "no answer")
    if reply.status != OK:
        raise _NotThere(f"status {reply.status}")
    return str(reply.content, "utf-8", "replace")


def _json(running: Running, path: str, timeout_s: float) -> Mapping[str, object]:
    try:
        found = json.loads(_get(running, path, timeout_s))
    except (_NotThere, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _labels(text: str) -> Mapping[str, str]:
    return {name: re.sub(r'\\[n"\\]', lambda escape: _ESCAPES[escape[0]], value) for name, value in _PAIR.findall(text)}


def _value(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"line {number}: {text!r} is no number") from error


def _cache_tokens(labels: Mapping[str, str]) -> int | None:
    """By its own sum where it has one (a model with several kinds of layers), else blocks × their size."""

    def read(name: str) -> int:
        return int(labels[name]) if labels.get(name, "").isdigit() else 0

    return read("kv_cache_size_tokens") or read("num_gpu_blocks") * read("block_size") or None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
