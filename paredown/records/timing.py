"""Times of requests, read off their raw events. The definitions that several metrics share; see measurement.md, 1.

t_sched, t_sent: when a request was due and sent · c_1…c_k: arrival of the chunks that carried tokens ·
m_1…m_k: how many each carried · n: output tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from paredown.records.events import Block, RequestEvents, Trial
from paredown.records.figure import Samples

NOTABLE_BACKGROUND = 0.10


@dataclass(frozen=True)
class Window:
    """A span of time on the clock of the events."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


def succeeded(requests: Iterable[RequestEvents]) -> tuple[RequestEvents, ...]:
    """Requests that finished and carried tokens; the others have no latency, they are failures."""
    return tuple(request for request in requests if not request.failure and request.chunks)


def failures(trial: Trial) -> Mapping[str, int]:
    """How many requests failed, by error class."""
    counts: dict[str, int] = {}
    for request in trial.requests():
        if request.failure:
            counts[request.failure] = counts.get(request.failure, 0) + 1
    return counts


def token_ids_known(request: RequestEvents) -> bool:
    """Whether the server said which tokens a chunk carried."""
    return all(chunk.token_ids for chunk in request.chunks)


def tokens_per_chunk(request: RequestEvents) -> tuple[int, ...]:
    """m_1…m_k. Without token ids: the n tokens are spread evenly over the chunks, the earlier ones first, and at
    least one each. That is exact where a chunk is a token and an estimate elsewhere (`caveats` says so).
    """
    if token_ids_known(request):
        return tuple(len(chunk.token_ids) for chunk in request.chunks)
    chunks = len(request.chunks)
    share, rest = divmod(max(request.output_tokens, chunks), chunks)
    return tuple(share + (1 if index < rest else 0) for index in range(chunks))


def ttft_s(request: RequestEvents) -> float:
    """c_1 − t_sched."""
    return (request.chunks[0].arrived_ns - request.scheduled_ns) / 1e9


def ttft_sent_s(request: RequestEvents) -> float:
    """c_1 − t_sent."""
    return (request.chunks[0].arrived_ns - request.sent_ns) / 1e9


def send_delay_s(request: RequestEvents) -> float:
    """t_sent − t_sched: how late the client was."""
    return (request.sent_ns - request.scheduled_ns) / 1e9


def itl_s(request: RequestEvents) -> tuple[float, ...]:
    """The gap before each chunk i ≥ 2 shared by its tokens: m_i values of (c_i − c_{i−1})/m_i."""
    arrived = [chunk.arrived_ns for chunk in request.chunks]
    values: list[float] = []
    for before, after, tokens in zip(arrived[:-1], arrived[1:], tokens_per_chunk(request)[1:], strict=True):
        values += [(after - before) / tokens / 1e9] * tokens
    return tuple(values)


def tpot_s(request: RequestEvents) -> float | None:
    """(c_k − c_1)/(n − m_1); None where n = m_1, because one chunk has no rate."""
    after_first = request.output_tokens - tokens_per_chunk(request)[0]
    if after_first <= 0 or len(request.chunks) < 2:
        return None
    return (request.chunks[-1].arrived_ns - request.chunks[0].arrived_ns) / after_first / 1e9


def e2e_s(request: RequestEvents) -> float:
    """c_k − t_sched."""
    return (request.chunks[-1].arrived_ns - request.scheduled_ns) / 1e9


def e2e_50_s(request: RequestEvents) -> float | None:
    """c_k − t_sched of an answer of exactly 50 tokens, else None."""
    return e2e_s(request) if request.output_tokens == 50 else None


PER_REQUEST: Mapping[str, Callable[[RequestEvents], float | None]] = MappingProxyType(
    {"ttft": ttft_s, "ttft_sent": ttft_sent_s, "tpot": tpot_s, "itl": tpot_s, "e2e": e2e_s, "e2e_50": e2e_50_s}
)
"""What a limit on one request is held against, by metric, in seconds.

One request has one value of each: its `itl` is the mean of its gaps, which is its time per token (AIPerf likewise).
"""


def is_good(request: RequestEvents, limits: Mapping[str, float]) -> bool:
    """Whether it succeeded and kept every limit (seconds, by metric of PER_REQUEST); an undefined value breaks none.

    Raises KeyError for a metric that one request has no value of.
    """
    if request.failure or not request.chunks:
        return False
    values = ((PER_REQUEST[metric](request), limit) for metric, limit in limits.items())
    return all(value is None or value <= limit for value, limit in values)


def peak_in_flight(requests: Iterable[RequestEvents]) -> int:
    """The largest number of requests that were between sent and ended at one moment."""
    return max((level for _, level in _in_flight(requests)), default=0)


def steady_window(block: Block, concurrency: int) -> Window | None:
    """From the moment when the usual number of requests is in flight to the moment when it no longer is: ramp and
    drain are cut off. None for a block without a successful request.

    The usual number is the median over the time in which requests were sent: `concurrency` in a closed loop, what
    the server needed in an open one (its peak lasts for a moment only). Where no more requests were sent than fit in
    flight at once, it is the most there were. concurrency: 0 = not declared.
    """
    levels = _in_flight(block.requests)
    if not succeeded(block.requests):
        return None
    full = max(level for _, level in levels)
    if concurrency > 0:
        full = min(full, concurrency)
    if len(block.requests) > full:
        full = min(full, _usual(levels, max(request.sent_ns for request in block.requests)))
    start = next(time for time, level in levels if level >= full)
    last_full = max(index for index, (_, level) in enumerate(levels) if level >= full)
    return Window(start, levels[last_full + 1][0])


def _usual(levels: Sequence[tuple[int, int]], until_ns: int) -> int:
    """The median number in flight from the first send to `until_ns`, weighted by how long each lasted; at least 1."""
    lasted: dict[int, int] = {}
    for (time, level), (next_time, _) in itertools.pairwise(levels):
        if time < until_ns:
            lasted[level] = lasted.get(level, 0) + min(next_time, until_ns) - time
    half, passed = sum(lasted.values()) / 2, 0
    for level in sorted(lasted):
        passed += lasted[level]
        if passed >= half:
            return max(1, level)
    return 1


def whole_window(block: Block) -> Window | None:
    """First send to last response."""
    done = succeeded(block.requests)
    if not done:
        return None
    return Window(min(r.sent_ns for r in block.requests), max(r.chunks[-1].arrived_ns for r in done))


def output_rate(block: Block, window: Window | None) -> float | None:
    """Output tokens per second that arrived within the window, of requests that succeeded.

    A block whose requests all failed has no window and the rate 0; None = nothing was sent, or the window is empty.
    """
    if window is None:
        return 0.0 if block.requests else None
    if window.end_ns <= window.start_ns:
        return None
    tokens = sum(
        count
        for request in succeeded(block.requests)
        for chunk, count in zip(request.chunks, tokens_per_chunk(request), strict=True)
        if window.start_ns <= chunk.arrived_ns <= window.end_ns
    )
    return tokens / window.seconds


def request_rate(
    block: Block, window: Window | None, counts: Callable[[RequestEvents], bool] = lambda _: True
) -> float | None:
    """Requests per second that succeeded, for which `counts` is true and whose last token arrived within the window.

    0 and None as with `output_rate`.
    """
    if window is None:
        return 0.0 if block.requests else None
    if window.end_ns <= window.start_ns:
        return None
    done = sum(
        window.start_ns <= request.chunks[-1].arrived_ns <= window.end_ns and counts(request)
        for request in succeeded(block.requests)
    )
    return done / window.seconds


def request_samples(
    metric: str, unit: str, trial: Trial | None, value: Callable[[RequestEvents], float | None], undefined: str
) -> Samples:
    """One sample for each successful request; a request for which `value` is None gives none (`undefined`: why)."""
    if trial is None:
        return Samples(metric, unit, (), missing="no trial was run")
    values: list[float] = []
    blocks: list[int] = []
    for block in trial.blocks:
        for request in succeeded(block.requests):
            sample = value(request)
            if sample is not None:
                values.append(sample)
                blocks.append(block.index)
    missing = "" if values else (undefined if succeeded(trial.requests()) else nothing_succeeded(trial))
    return Samples(metric, unit, tuple(values), tuple(blocks), missing, caveats(trial))


def nothing_succeeded(trial: Trial) -> str:
    """Why there is nothing to compute: all requests failed, with the classes."""
    return f"no request succeeded ({failure_text(trial) or 'none was sent'})"


def caveats(trial: Trial) -> str:
    """What the reader of a figure of this trial must know; empty when all went well on a quiet machine."""
    parts = []
    if failures(trial):
        parts.append(
            f"{sum(failures(trial).values())} of {len(trial.requests())} requests failed "
            f"({failure_text(trial)}) and are not in this figure"
        )
    if not all(map(token_ids_known, succeeded(trial.requests()))):
        parts.append("the server gives no token ids: tokens per chunk are estimated from its usage count")
    others = max((block.background_load or 0.0 for block in trial.blocks), default=0.0)
    if others > NOTABLE_BACKGROUND:
        parts.append(f"other processes kept up to {others:.0%} of the cores busy")
    return "; ".join(parts)


def failure_text(trial: Trial) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(failures(trial).items()))


def _in_flight(requests: Iterable[RequestEvents]) -> list[tuple[int, int]]:
    """(time, number in flight from then on); changes at one moment are added up."""
    changes: dict[int, int] = {}
    for request in requests:
        ended = request.finished_ns
        if ended is None:
            ended = request.chunks[-1].arrived_ns if request.chunks else request.sent_ns
        changes[request.sent_ns] = changes.get(request.sent_ns, 0) + 1
        changes[ended] = changes.get(ended, 0) - 1
    level, levels = 0, []
    for time in sorted(changes):
        level += changes[time]
        levels.append((time, level))
    return levels
