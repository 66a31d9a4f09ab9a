"""When the figures of a trial may not be used, because the load was not the one that was asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.records.events import RequestEvents
from paredown.records.timing import succeeded

LEAST_SENT_RATE = 0.98
LARGEST_DELAY_SHARE_OF_TTFT = 0.05
LARGEST_DELAY_S = 0.010
LARGEST_CACHED_SHARE = 0.10
LARGEST_COMPUTED_SHARE = 0.10
# A chat template's own system prompt is the same for every request and may well be cached.
TEMPLATE_TOKENS = 64
# A cache keeps whole pages, and the last token is computed in any case, so the end of a prompt is never found.
PAGE_TOKENS = 64


def reason(
    blocks: Sequence[Sequence[RequestEvents]],
    *,
    forced_lengths: bool,
    ttft_target_s: float | None = None,
    cache: str = "cold",
    wanted: int | None = None,
) -> str:
    """Why the trial is void, in a sentence, or empty. A server that is too slow is no reason.

    blocks: requests of each block; forced_lengths: whether every answer had to have its wanted length
    cache:  as in `Traffic.cache`; `shared` is never a reason
    wanted: how many requests there should have been; None = as many as there are
    """
    requests = [request for block in blocks for request in block]
    limit_s = LARGEST_DELAY_S if ttft_target_s is None else LARGEST_DELAY_SHARE_OF_TTFT * ttft_target_s
    return (
        _cut_short(len(requests), wanted)
        or _sent_slowly(blocks, limit_s)
        or _sent_late(requests, limit_s)
        or (_lengths_not_obeyed(requests) if forced_lengths else "")
        or _not_the_cache_asked_for(requests, cache)
    )


def _cut_short(sent: int, wanted: int | None) -> str:
    if wanted is None or sent >= wanted:
        return ""
    return f"The load was cut short: {sent:,} of {wanted:,} requests were sent."


def _sent_slowly(blocks: Sequence[Sequence[RequestEvents]], limit_s: float) -> str:
    for requests in filter(None, blocks):
        due_ns, sent_ns = (_span(times) for times in zip(*((r.scheduled_ns, r.sent_ns) for r in requests), strict=True))
        # A burst, or a single request, has no rate: a delay that one request may have is no stretch of it.
        if sent_ns - due_ns <= limit_s * 1e9:
            continue
        ratio = due_ns / sent_ns
        if ratio < LEAST_SENT_RATE:
            return f"The client sent at {ratio:.1%} of the rate that was due (at least {LEAST_SENT_RATE:.0%} needed)."
    return ""


def _span(times_ns: Sequence[int]) -> int:
    return max(times_ns) - min(times_ns)


def _sent_late(requests: Sequence[RequestEvents], limit_s: float) -> str:
    if not requests:
        return ""
    delays = sorted((request.sent_ns - request.scheduled_ns) / 1e9 for request in requests)
    p99_s = delays[math.ceil(0.99 * len(delays)) - 1]
    if p99_s > limit_s:
        return f"Requests were sent late: p99 {p99_s * 1e3:.1f} ms after they were due, limit {limit_s * 1e3:.1f} ms."
    return ""


def _lengths_not_obeyed(requests: Sequence[RequestEvents]) -> str:
    wrong = wrong_lengths(requests)
    if not wrong:
        return ""
    first = wrong[0]
    return (
        f"{len(wrong)} of {len(requests)} answers did not have the forced length "
        f"(request {first.id}: {first.output_tokens} tokens instead of {first.wanted_tokens})."
    )


def wrong_lengths(requests: Sequence[RequestEvents]) -> list[RequestEvents]:
    """Those that succeeded with another number of tokens than was wanted."""
    return [request for request in succeeded(requests) if request.output_tokens != request.wanted_tokens]


@dataclass(frozen=True)
class CacheUse:
    """Prompt tokens of the requests for which the server told how many came from its prefix cache.

    cached, computed: without what a template or the paging of the cache accounts for, so they need not add up
    """

    prompt: int
    all_cached: int
    cached: int
    computed: int


def cache_use(requests: Sequence[RequestEvents]) -> CacheUse | None:
    """None where the server does not tell."""
    told = [(r.prompt_tokens, r.cached_tokens) for r in requests if r.cached_tokens is not None and r.prompt_tokens]
    if not told:
        return None
    return CacheUse(
        prompt=sum(prompt or 0 for prompt, _ in told),
        all_cached=sum(cached or 0 for _, cached in told),
        cached=sum(max(0, (cached or 0) - TEMPLATE_TOKENS) for _, cached in told),
        computed=sum(max(0, (prompt or 0) - (cached or 0) - PAGE_TOKENS) for prompt, cached in told),
    )


def _not_the_cache_asked_for(requests: Sequence[RequestEvents], cache: str) -> str:
    use = cache_use(requests)
    if use is None:
        return ""
    if cache == "cold" and use.cached / use.prompt > LARGEST_CACHED_SHARE:
        return (
            f"{use.cached / use.prompt:.0%} of the prompt tokens came from a prefix cache; the trial was to run cold."
        )
    if cache == "warm" and use.computed / use.prompt > LARGEST_COMPUTED_SHARE:
        share = use.all_cached / use.prompt
        return f"The trial was to run warm, and {share:.0%} of the prompt tokens came from a prefix cache."
    return ""
