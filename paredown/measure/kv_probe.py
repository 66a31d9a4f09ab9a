"""How much memory a filling context takes: the growth of the engine's process tree while one answer is decoded.

While decoding, weights and work space stay as they are, so that growth is the cache's. An engine that reserves its
cache in advance does not grow, and then the part is not separated; one that keeps freed memory for later grows less
than its cache, so the figure is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from paredown.measure.memory import MemorySampler, growth_bytes
from paredown.records.events import RequestEvents


@dataclass(frozen=True)
class KvProbe:
    """growth_bytes: over the tokens that were decoded; None = not separated. `note` says of what, or why not."""

    growth_bytes: int | None
    note: str


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
    return KvProbe(grown, f"growth over {tokens} decoded tokens, at least: memory freed before may be used again")
