"""Times of requests, read off their raw events. The definitions that several metrics share; see measurement.md, 1.

t_sched, t_sent: when a request was due and sent · c_1…c_k: arrival of the chunks that carried tokens ·
m_1…m_k: how many each carried · n: output tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

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


def peak_in_flight(requests: Iterable[RequestEvents]) -> int:
    """The largest number of requests that were between sent and ended at one moment."""
    return max((level for _, level in _in_flight(requests)), default=0)


def steady_window(block: Block, concurrency: int) -> Window | None:
    """From the moment when `concurrency` requests (or the most there were) are in flight to the moment when they no
    longer are: ramp and drain are cut off. None for a block without a successful request.
    """
    levels = _in_flight(block.requests)
    if not succeeded(block.requests):
        return None
    full = min(concurrency, max(level for _, level in levels)) if concurrency > 0 else max(lv for _, lv in levels)
    start = next(time for time, level in levels if level >= full)
    last_full = max(index for index, (_, level) in enumerate(levels) if level >= full)
    return Window(start, levels[last_full + 1][0])


def whole_window(block: Block) -> Window | None:
    """First send to last response."""
    done = succeeded(block.requests)
    if not done:
        return None
    return Window(min(r.sent_ns for r in block.requests), max(r.chunks[-1].arrived_ns for r in done))


def output_rate(block: Block, window: Window | None) -> float | None:
    """Output tokens per second that arrived within the window, of requests that succeeded; None = no window."""
    if window is None or window.end_ns <= window.start_ns:
        return None
    tokens = sum(
        count
        for request in succeeded(block.requests)
        for chunk, count in zip(request.chunks, tokens_per_chunk(request), strict=True)
        if window.start_ns <= chunk.arrived_ns <= window.end_ns
    )
    return tokens / window.seconds


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
