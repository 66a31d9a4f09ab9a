"""What the reader of a trial's figures must know beside them: clauses, each once, with how many blocks it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paredown.measure import void, warm_up
from paredown.records.events import Block, RequestEvents
from paredown.records.timing import NOTABLE_BACKGROUND
from paredown.records.traffic import Traffic

NOT_FORCED = "lengths were not forced, because the server does not take ignore_eos"
"""In the note of a block; its answers may then have any length."""


def lengths_were_free(blocks: Sequence[Block]) -> bool:
    """Whether the server could not be made to keep to the wanted lengths, though it was to."""
    return any(NOT_FORCED in _clauses(block) for block in blocks)


def of(traffic: Traffic, blocks: Sequence[Block]) -> tuple[str, ...]:
    """What was done to the requests, how warm-up went, what the machine did meanwhile, what the server cannot do."""
    requests = [request for block in blocks for request in block.requests]
    found = [
        *traffic.notes,
        warm_up.unsteady_note(blocks),
        warm_up.slow_start_note(blocks),
        *_of_blocks(blocks),
        _load(blocks),
        _lengths(requests) if lengths_were_free(blocks) else "",
        _cache(traffic, requests),
        _retried(requests),
    ]
    return tuple(dict.fromkeys(filter(None, found)))


def _clauses(block: Block) -> list[str]:
    return [clause for clause in block.note.split("; ") if clause]


def _of_blocks(blocks: Sequence[Block]) -> Iterator[str]:
    """Each block's own clauses; those of one kind differ in their figures, so they stay apart."""
    several = len(blocks) > 1
    for block in blocks:
        for clause in _clauses(block):
            yield f"block {block.index + 1}: {clause}" if several and clause != NOT_FORCED else clause


def _load(blocks: Sequence[Block]) -> str:
    loads = [block.background_load for block in blocks if (block.background_load or 0.0) > NOTABLE_BACKGROUND]
    if not loads:
        return ""
    most = max(load for load in loads if load is not None)
    return f"other processes kept up to {most:.0%} of the cores busy in {len(loads)} of {len(blocks)} blocks"


def _lengths(requests: Sequence[RequestEvents]) -> str:
    wrong = len(void.wrong_lengths(requests))
    return f"{wrong} of {len(requests)} answers had another length than wanted" if wrong else ""


def _cache(traffic: Traffic, requests: Sequence[RequestEvents]) -> str:
    if traffic.cache != "warm" or void.cache_use(requests) is not None:
        return ""
    return "every prompt was sent once before; the server does not tell how much of them it took from its prefix cache"


def _retried(requests: Sequence[RequestEvents]) -> str:
    again = [request for request in requests if request.attempts > 1]
    return f"{len(again)} of {len(requests)} requests were sent more than once" if again else ""
