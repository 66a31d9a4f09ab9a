"""Requests that bring an engine to its working state before t = 0, without filling a prefix cache for the trial.

They go in rounds of the same lengths, each round with other words, until two rounds after each other take the same
time. An engine that compiles at the first request of a shape, or tunes itself, is slower in the earlier round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from paredown.records.events import Block, RequestEvents, WarmUp
from paredown.records.timing import peak_in_flight, succeeded, tpot_s, ttft_s
from paredown.records.traffic import Message, TrafficRequest

WARM_UP_TOKENS = 8
MOST_ROUNDS = 6
LONGEST_S = 10.0
"""No further round is begun after this."""
SAME = 1.25
"""Two rounds take the same time when neither median is further from the other than this factor."""
SLOW_START = 1.5
"""The first measured request is slower than the rest from this factor on."""

Send = Callable[[Sequence[TrafficRequest]], Sequence[RequestEvents]]


def requests_like(requests: Sequence[TrafficRequest], count: int, round_: int = 0) -> tuple[TrafficRequest, ...]:
    """`count` requests of like lengths: the words of the originals in reverse order, so that no prefix is shared.

    round_: another one begins at another word, so that it does not meet the cache of the last one
    """
    return tuple(
        replace(
            request,
            id=f"warm-up-{index}",
            messages=tuple(_reversed(message, round_) for message in request.messages),
            output_tokens=min(request.output_tokens, WARM_UP_TOKENS),
        )
        for index, request in enumerate(requests[i % len(requests)] for i in range(count))
    )


def until_at_rest(
    requests: Sequence[TrafficRequest], count: int, send: Send, now_s: Callable[[], float] = time.monotonic
) -> WarmUp:
    """Rounds of `count` requests until two in a row take the same time per token and to the first token.

    At most six rounds, none begun after ten seconds: a second or less on a fast engine, few requests on a slow one.
    """
    begun_s = now_s()
    rounds: list[_Times] = []
    while len(rounds) < MOST_ROUNDS and (not rounds or now_s() - begun_s < LONGEST_S):
        rounds.append(_times(send(requests_like(requests, count, len(rounds)))))
        if len(rounds) > 1 and rounds[-1].same_as(rounds[-2]):
            break
    steady = rounds[-1].same_as(rounds[-2]) if len(rounds) > 1 else None
    seconds = now_s() - begun_s
    return WarmUp(len(rounds) * count, seconds, steady, "" if steady else _note(rounds, seconds))


@dataclass(frozen=True)
class _Times:
    """Medians of one round in seconds; None where no request has one."""

    per_token_s: float | None
    first_token_s: float | None

    def same_as(self, other: _Times) -> bool:
        pairs = ((self.per_token_s, other.per_token_s), (self.first_token_s, other.first_token_s))
        known = [(a, b) for a, b in pairs if a and b]
        return bool(known) and all(max(a, b) <= SAME * min(a, b) for a, b in known)


def _times(events: Sequence[RequestEvents]) -> _Times:
    done = succeeded(events)
    per_token = [seconds for request in done if (seconds := tpot_s(request)) is not None]
    first = [ttft_s(request) for request in done]
    return _Times(statistics.median(per_token) if per_token else None, statistics.median(first) if first else None)


def _note(rounds: Sequence[_Times], seconds: float) -> str:
    if len(rounds) == 1:
        return f"one round of warm-up took {seconds:.1f} s, so there was no second to compare it with"
    return f"warm-up had not come to rest after {len(rounds)} rounds in {seconds:.1f} s"


def unsteady_note(blocks: Sequence[Block]) -> str:
    """A clause for the reader when warm-up ended before the engine was at rest; empty when it did everywhere."""
    unsteady = [block.warm_up for block in blocks if block.warm_up is not None and block.warm_up.steady is not True]
    if not unsteady:
        return ""
    of = f"in {len(unsteady)} of {len(blocks)} blocks: " if len(blocks) > 1 else ""
    return f"{of}{unsteady[0].note}"


def slow_start_note(blocks: Sequence[Block]) -> str:
    """A clause when the first measured request of most blocks was slower per token than the rest, else empty.

    Blocks of fewer than three requests cannot tell.
    """
    ratios = [ratio for block in blocks if (ratio := _first_over_rest(block)) is not None]
    if not ratios or statistics.median(ratios) < SLOW_START:
        return ""
    return (
        f"the first measured request took {statistics.median(ratios):.1f} times as long as the rest of its block: "
        "warm-up had not ended"
    )


def _first_over_rest(block: Block) -> float | None:
    """The larger of the ratios of time per token and of time to first token; the latter only where its prompt is not
    longer than those of the rest.
    """
    done = sorted(succeeded(block.requests), key=lambda request: request.sent_ns)
    if len(done) < 3:
        return None
    first, *rest = done
    ratios = []
    paces = [seconds for request in rest if (seconds := tpot_s(request))]
    own = tpot_s(first)
    if own and paces:
        ratios.append(own / statistics.median(paces))
    alike = [ttft_s(r) for r in rest if (r.prompt_tokens or 0) >= (first.prompt_tokens or 0) > 0]
    # Where requests come together, waiting decides, and those of the beginning come all at once.
    if len(alike) > 1 and statistics.median(alike) > 0 and peak_in_flight(block.requests) == 1:
        ratios.append(ttft_s(first) / statistics.median(alike))
    return max(ratios) if ratios else None


def _reversed(message: Message, round_: int) -> Message:
    words = message.content.split()
    turned = words[::-1]
    start = round_ % len(words) if words else 0
    turned = turned[start:] + turned[:start]
    # Two words turned twice are the prompt itself, which must not be known when it is measured.
    return Message(message.role, " ".join(words[::-1] if turned == words else turned))
