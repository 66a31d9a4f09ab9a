"""Raw events of requests; every speed metric is a pure function of them. All times are of one monotonic clock (ns)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChunkEvent:
    """A chunk that carried tokens. `engine_ns`: when the engine had it, by its own stamp (same host's clock)."""

    arrived_ns: int
    token_ids: tuple[int, ...]
    engine_ns: int | None = None


@dataclass(frozen=True)
class RequestEvents:
    """One request from due to done.

    scheduled_ns, sent_ns: when it was due, when it was sent
    chunks:         those that carried tokens; empty and role-only chunks are not in here
    output_tokens:  the server's `usage`, else the number of token ids
    finish_reason:  `stop`, `length`, or empty when it did not finish
    failure:        error class of a failed request, else empty: `refused`, `status_500`, `error_object`, `malformed`,
                    `truncated`, `no_tokens`, `timeout`, `stalled`, `disconnected`, `bad_certificate`
    cached_tokens:  prompt tokens that the server says it took from its prefix cache; None = it does not say
    empty_ns:       arrival of the events that carried no token (role-only, empty, usage), which some tools count
    attempts:       how often it was sent; more than 1 only where retries were asked for, and then `sent_ns` is the
                    first time
    """

    id: str
    scheduled_ns: int
    sent_ns: int
    chunks: tuple[ChunkEvent, ...]
    finished_ns: int | None
    prompt_tokens: int | None
    output_tokens: int
    wanted_tokens: int
    finish_reason: str = ""
    failure: str = ""
    detail: str = ""
    text: str = ""
    cached_tokens: int | None = None
    empty_ns: tuple[int, ...] = ()
    attempts: int = 1

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The answer's tokens; none where the server gives no ids."""
        return tuple(token for chunk in self.chunks for token in chunk.token_ids)


@dataclass(frozen=True)
class StartUp:
    """Process start → weights loaded → ready → first token, in ns since the process start. None = not seen."""

    loaded_ns: int | None
    ready_ns: int
    first_token_ns: int | None = None


WEIGHTS_NOTE, KV_CACHE_NOTE = "weights: ", "KV cache: "
"""How the parts of `Memory.note` begin that are about one part of the memory; parts are separated by `; `."""


@dataclass(frozen=True)
class Memory:
    """Memory of the engine's process tree, from sampled PSS; `None` parts could not be separated (`note` says why).

    kv_bytes_per_token: as the engine allocates it, by its own count where it has one, else by the growth of PSS
    activations_bytes:  the most that was held beyond the loaded model and the KV cache while it worked
    """

    peak_bytes: int
    sample_period_ms: int
    samples: int
    before_load_bytes: int | None = None
    after_load_bytes: int | None = None
    high_water_bytes: int | None = None
    weights_bytes: int | None = None
    kv_cache_bytes: int | None = None
    note: str = ""
    kv_bytes_per_token: float | None = None
    activations_bytes: int | None = None

    def note_on(self, part: str) -> str:
        """What the note says of one part (`WEIGHTS_NOTE` or `KV_CACHE_NOTE`), without its beginning; else empty."""
        found = (text for text in self.note.split("; ") if text.startswith(part))
        return next(found, "").removeprefix(part)


@dataclass(frozen=True)
class Energy:
    """Energy over the trial from a hardware counter. `joules is None` = not measured (`missing` says why)."""

    joules: float | None
    seconds: float
    source: str = ""
    missing: str = ""


@dataclass(frozen=True)
class WarmUp:
    """What came before t = 0, and whether it had come to rest.

    requests: that were sent; seconds: that they took
    steady:   whether the last ones were no slower than those before them; None = too few to tell
    """

    requests: int
    seconds: float
    steady: bool | None
    note: str = ""


@dataclass(frozen=True)
class Block:
    """One process (or one slice of it) under one load: the unit that is independent of the others.

    background_load: share of all usable cores that other processes kept busy meanwhile; None = not known
    note:            what else was seen (throttling …), clauses with `; ` between them
    batching_seen:   the most requests that one step of the engine computed together; None = the server does not say
    """

    index: int
    requests: tuple[RequestEvents, ...]
    startup: StartUp | None
    memory: Memory | None
    energy: Energy | None
    fresh_process: bool
    background_load: float | None = None
    note: str = ""
    warm_up: WarmUp | None = None
    batching_seen: int | None = None


@dataclass(frozen=True)
class Trial:
    """One candidate under one traffic: raw events kept. `void` says why its figures may not be used, else empty.

    concurrency:   requests in flight at most, as the load shape declares it, else the most that were seen
    batching_seen: the most requests that one step of the engine computed together; None = the server does not say
    cache:         what the prefix cache was to hold, as in `Traffic.cache`
    notes:         what the reader of its figures must know (requests clipped, lengths not forced …)
    """

    candidate: str
    traffic: str
    concurrency: int
    blocks: tuple[Block, ...]
    void: str = ""
    batching_seen: int | None = None
    cache: str = "cold"
    notes: tuple[str, ...] = ()

    def requests(self) -> tuple[RequestEvents, ...]:
        """All requests of all blocks, in order."""
        return tuple(request for block in self.blocks for request in block.requests)
