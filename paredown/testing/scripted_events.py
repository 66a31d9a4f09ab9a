"""Raw events written down by hand, in milliseconds, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.records.events import Block, ChunkEvent, Memory, RequestEvents, StartUp, Trial

MS = 1_000_000


def request(
    arrivals_ms: Sequence[float],
    *,
    tokens: Sequence[int] | None = None,
    name: str = "r",
    due_ms: float = 0.0,
    sent_ms: float | None = None,
    output_tokens: int | None = None,
    failure: str = "",
    ids_known: bool = True,
    engine_ms: Sequence[float] | None = None,
    cached_tokens: int | None = None,
    prompt_tokens: int = 10,
) -> RequestEvents:
    """A request whose chunks arrived at `arrivals_ms` and carried `tokens` each (default: one)."""
    counts = list(tokens or [1] * len(arrivals_ms))
    stamps = [None] * len(counts) if engine_ms is None else [round(stamp * MS) for stamp in engine_ms]
    chunks = tuple(
        ChunkEvent(round(at * MS), tuple(range(count)) if ids_known else (), stamp)
        for at, count, stamp in zip(arrivals_ms, counts, stamps, strict=True)
    )
    total = sum(counts) if output_tokens is None else output_tokens
    return RequestEvents(
        id=name,
        scheduled_ns=round(due_ms * MS),
        sent_ns=round((due_ms if sent_ms is None else sent_ms) * MS),
        chunks=chunks,
        finished_ns=None if failure or not chunks else chunks[-1].arrived_ns,
        prompt_tokens=prompt_tokens,
        output_tokens=total,
        wanted_tokens=total,
        finish_reason="" if failure else "length",
        failure=failure,
        cached_tokens=cached_tokens,
    )


def block(
    *requests: RequestEvents, index: int = 0, startup: StartUp | None = None, memory: Memory | None = None
) -> Block:
    return Block(index, requests, startup, memory, None, fresh_process=True)


def trial(*blocks: Block, concurrency: int = 1, void: str = "") -> Trial:
    return Trial("candidate", "traffic", concurrency, blocks, void)
