"""A server with a queue, simulated from what it does and when it writes: what is true, told apart from our events.

Nothing in here uses a definition of a metric. The server keeps a list of when it wrote each token; tests compare
figures with that list.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from paredown.records.events import Block, ChunkEvent, RequestEvents, Trial

MS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What one request will meet: when it is due after the one before it, how late the client is, what it is written.

    writes: (ns after the write before it, tokens); the first is after the ns of the prefill
    role_ns: after which a role-only event is written, None = none is
    """

    gap_ns: int
    late_ns: int
    prefill_ns: int
    writes: tuple[tuple[int, int], ...]
    role_ns: int | None = None
    failed: bool = False


@dataclass(frozen=True)
class Truth:
    """What the server did for one request. token_ns: when each token was written."""

    due_ns: int
    sent_ns: int
    role_ns: int | None
    token_ns: tuple[int, ...]
    tokens_of_first_write: int
    failed: bool
    events: RequestEvents


def serve(plans: Sequence[Plan], slots: int) -> tuple[Truth, ...]:
    """First come, first served, `slots` at a time."""
    free_at = [0] * slots
    due, served = 0, []
    for index, plan in enumerate(plans):
        due += plan.gap_ns
        sent = due + plan.late_ns
        begins = max(sent, heapq.heappop(free_at))
        role = None if plan.role_ns is None else begins + min(plan.role_ns, plan.prefill_ns)
        at, written, chunks, used = begins + plan.prefill_ns, [], [], 0
        for after, tokens in plan.writes:
            at += after
            written += [at] * tokens
            chunks.append(ChunkEvent(at, tuple(range(used, used + tokens))))
            used += tokens
        heapq.heappush(free_at, at)
        events = RequestEvents(
            id=f"r{index}",
            scheduled_ns=due,
            sent_ns=sent,
            chunks=tuple(chunks),
            finished_ns=None if plan.failed else at,
            prompt_tokens=7,
            output_tokens=used,
            wanted_tokens=used,
            finish_reason="" if plan.failed else "length",
            failure="disconnected" if plan.failed else "",
            empty_ns=() if role is None else (role,),
        )
        served.append(Truth(due, sent, role, tuple(written), plan.writes[0][1], plan.failed, events))
    return tuple(served)


def trial_of(*blocks: Sequence[Truth], concurrency: int = 0) -> Trial:
    made = tuple(
        Block(index, tuple(truth.events for truth in block), None, None, None, fresh_process=True)
        for index, block in enumerate(blocks)
    )
    return Trial("candidate", "traffic", concurrency, made)


@st.composite
def served(
    draw: st.DrawFn, *, one_token: bool = False, waits: bool = True, failures: bool = False
) -> tuple[Truth, ...]:
    """A block of at least one answer. one_token: a write carries one; waits: the client can be late."""
    tokens = st.just(1) if one_token else st.integers(1, 5)
    times = st.integers(1, 400 * MS)
    late = st.one_of(st.just(0), times) if waits else st.just(0)
    plan = st.builds(
        Plan,
        gap_ns=times,
        late_ns=late,
        prefill_ns=times,
        writes=st.lists(st.tuples(times, tokens), min_size=1, max_size=8).map(tuple),
        role_ns=st.just(None) if not waits else st.one_of(st.none(), times),
        failed=st.booleans() if failures else st.just(False),
    )
    plans = draw(st.lists(plan, min_size=1, max_size=8))
    found = serve(plans, draw(st.integers(1, 3)))
    return found if not all(truth.failed for truth in found) else serve([*plans, Plan(1, 0, 1, ((1, 1),))], 1)
