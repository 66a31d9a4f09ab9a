"""When the figures of a trial may not be used, because the load was not the one that was asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from paredown.records.events import RequestEvents
from paredown.records.timing import succeeded

LEAST_SENT_RATE = 0.98
LARGEST_DELAY_SHARE_OF_TTFT = 0.05
LARGEST_DELAY_S = 0.010
LARGEST_CACHED_SHARE = 0.10
# A chat template's own system prompt is the same for every request and may well be cached.
TEMPLATE_TOKENS = 64


def reason(
    blocks: Sequence[Sequence[RequestEvents]], *, forced_lengths: bool, ttft_target_s: float | None = None
) -> str:
    """Why the trial is void, in a sentence, or empty. A server that is too slow is no reason.

    blocks: requests of each block; forced_lengths: whether every answer had to have its wanted length
    """
    requests = [request for block in blocks for request in block]
    return (
        _sent_slowly(blocks)
        or _sent_late(requests, ttft_target_s)
        or (_lengths_not_obeyed(requests) if forced_lengths else "")
        or _prompts_were_cached(requests)
    )


def _sent_slowly(blocks: Sequence[Sequence[RequestEvents]]) -> str:
    for requests in filter(None, blocks):
        due_ns, sent_ns = (_span(times) for times in zip(*((r.scheduled_ns, r.sent_ns) for r in requests), strict=True))
        # A burst has no rate: a few milliseconds are no stretch of it, however short it was meant to be.
        if sent_ns - due_ns <= LARGEST_DELAY_S * 1e9:
            continue
        ratio = due_ns / sent_ns
        if ratio < LEAST_SENT_RATE:
            return f"The client sent at {ratio:.1%} of the rate that was due (at least {LEAST_SENT_RATE:.0%} needed)."
    return ""


def _span(times_ns: Sequence[int]) -> int:
    return max(times_ns) - min(times_ns)


def _sent_late(requests: Sequence[RequestEvents], ttft_target_s: float | None) -> str:
    if not requests:
        return ""
    delays = sorted((request.sent_ns - request.scheduled_ns) / 1e9 for request in requests)
    p99_s = delays[math.ceil(0.99 * len(delays)) - 1]
    limit_s = LARGEST_DELAY_S if ttft_target_s is None else LARGEST_DELAY_SHARE_OF_TTFT * ttft_target_s
    if p99_s > limit_s:
        return f"Requests were sent late: p99 {p99_s * 1e3:.1f} ms after they were due, limit {limit_s * 1e3:.1f} ms."
    return ""


def _lengths_not_obeyed(requests: Sequence[RequestEvents]) -> str:
    wrong = [request for request in succeeded(requests) if request.output_tokens != request.wanted_tokens]
    if not wrong:
        return ""
    first = wrong[0]
    return (
        f"{len(wrong)} of {len(requests)} answers did not have the forced length "
        f"(request {first.id}: {first.output_tokens} tokens instead of {first.wanted_tokens})."
    )


def _prompts_were_cached(requests: Sequence[RequestEvents]) -> str:
    told = [r for r in requests if r.cached_tokens is not None and r.prompt_tokens]
    prompt = sum(r.prompt_tokens or 0 for r in told)
    cached = sum(max(0, (r.cached_tokens or 0) - TEMPLATE_TOKENS) for r in told)
    if prompt and cached / prompt > LARGEST_CACHED_SHARE:
        return f"{cached / prompt:.0%} of the prompt tokens came from a prefix cache; the trial was to run cold."
    return ""
