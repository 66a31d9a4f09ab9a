"""How much memory a filling context takes: the growth of the engine's process tree while one answer is decoded.

While decoding, weights and work space stay as they are, so that growth is the cache's. An engine that reserves its
cache in advance does not grow, and then the part is not separated; one that keeps freed memory for later grows less
than its cache, and one whose other memory grows too (seen with OpenVINO) grows more. So where an engine counts its
cache itself, its count is the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from paredown.hosts.scoring_client import HostInfo
from paredown.measure.memory import KvPart, MemorySampler, growth_bytes
from paredown.records.events import RequestEvents


@dataclass(frozen=True)
class KvProbe:
    """growth_bytes: over the tokens that were decoded; None = not separated. `note` says of what, or why not."""

    growth_bytes: int | None
    note: str
    tokens: int = 0


def kv_part(probe: KvProbe, info: HostInfo | None) -> KvPart:
    """By the engine's own count at its largest; else by the growth of memory."""
    grown = probe.growth_bytes
    per_token = None if grown is None or not probe.tokens else grown / probe.tokens
    if info is None or info.kv_bytes is None or not info.kv_tokens:
        return KvPart(grown, per_token, probe.note)
    beside = f" (memory grew by {per_token:,.0f} bytes a token, {probe.note})" if per_token is not None else ""
    return KvPart(
        info.kv_bytes,
        info.kv_bytes / info.kv_tokens,
        f"the engine's own count at its largest, {info.kv_tokens:,} positions{beside}",
    )


def probe_kv_cache(sampler: MemorySampler, processes: Iterable[int], answer: Callable[[], RequestEvents]) -> KvProbe:
    """Make one long answer and look at the samples between its first and last token."""
    events = answer()
    if events.failure:
        return KvProbe(None, f"the long answer failed ({events.failure})")
    start_ns, end_ns = events.chunks[0].arrived_ns, events.chunks[-1].arrived_ns
    grown = growth_bytes(sampler.samples(), processes, start_ns, end_ns)
    if grown is None:
        return KvProbe(None, f"memory did not grow steadily over {events.output_tokens} decoded tokens")
    tokens = events.output_tokens
    note = f"growth over {tokens} decoded tokens, near: freed memory may be used again, other memory may grow too"
    # The first token was there when the growth began.
    return KvProbe(grown, note, tokens - 1)
