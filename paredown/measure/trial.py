"""One candidate under one or more traffics, in blocks: raw events, memory, energy and what else was going on.

A block is a fresh process of the engine, or a slice of one warm process; either way no prompt is sent twice to the
same process, except where the prefix cache is to be warm: then each was sent once before. Loading and warm-up are
over before the first request is due; loading is reported as start-up, warm-up beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from paredown import registry
from paredown.errors import UserError
from paredown.machine import energy as counters
from paredown.measure import background, energy, trial_notes, void
from paredown.measure.kv_probe import KvProbe, kv_part, probe_kv_cache
from paredown.measure.load import SendSettings, drive, raise_if_all_failed
from paredown.measure.memory import MemorySample, MemorySampler, high_water_bytes, summarize
from paredown.measure.running import Running, Start
from paredown.measure.warm_up import requests_like, until_at_rest
from paredown.records.events import Block, Memory, RequestEvents, StartUp, Trial, WarmUp
from paredown.records.timing import peak_in_flight
from paredown.records.traffic import Traffic, TrafficRequest


@dataclass(frozen=True)
class TrialSettings:
    """How to measure.

    blocks:             fresh processes, or slices of one warm process when `fresh` is False
    requests_per_block: of each traffic; None = all of them (fresh), an equal share (warm). An open loop in fresh
                        processes takes a slice of its schedule of half a minute, or of so many requests if that
                        is longer: a queue needs time to build up
    warmup_requests:    in one round of warm-up, at least; never fewer than the traffic has in flight
    kv_probe_tokens:    length of an answer during which the growth of memory is taken for the KV cache; 0 = do not
    ttft_target_s:      from the user's targets; bounds how late the client may send
    rounds_again:       how many rounds that others disturbed may be measured again (in turns only)
    """

    blocks: int = 5
    fresh: bool = True
    requests_per_block: int | None = None
    warmup_requests: int = 2
    request_timeout_s: float = 300.0
    retries: int = 0
    forced_lengths: bool = True
    kv_probe_tokens: int = 0
    ttft_target_s: float | None = None
    memory_period_s: float = 0.1
    rounds_again: int = 0


ROUNDS_IN_FLIGHT = 2
OPEN_LOOP_SLICE_S = 30.0
OPEN_LOOP_WARM_UP_IN_FLIGHT = 4

BlockDone = Callable[[str, int, Mapping[str, Block]], None]
"""Called with candidate, block index, and the finished block of each traffic by its name."""


def run(
    start: Start,
    candidate: str,
    traffics: Sequence[Traffic],
    settings: TrialSettings | None = None,
    *,
    on_block: BlockDone | None = None,
    done: Mapping[int, Mapping[str, Block]] | None = None,
) -> tuple[Trial, ...]:
    """Measure one candidate; one Trial for each traffic, in their order.

    done: blocks of an interrupted trial by index, which are not measured again (fresh processes only)
    Raises EngineError when the engine does not start, dies, hangs or answers nothing; UserError for a traffic with
    too few requests.
    """
    settings = settings or TrialSettings()
    finished: dict[int, Mapping[str, Block]] = dict(done or {}) if settings.fresh else {}
    if settings.fresh:
        for index in range(settings.blocks):
            if index not in finished:
                finished[index] = run_block(start, traffics, settings, index)
                _tell(on_block, candidate, index, finished[index])
    else:
        with _Process(start, settings) as process:
            for index in range(settings.blocks):
                finished[index] = process.measure(traffics, index, warm_up=index == 0)
                _tell(on_block, candidate, index, finished[index])
    return assemble(candidate, traffics, finished, settings)


def run_block(start: Start, traffics: Sequence[Traffic], settings: TrialSettings, index: int) -> Mapping[str, Block]:
    """One fresh process under each traffic in turn; its block of each traffic by name."""
    with _Process(start, settings) as process:
        return process.measure(traffics, index, warm_up=True)


def assemble(
    candidate: str, traffics: Sequence[Traffic], blocks: Mapping[int, Mapping[str, Block]], settings: TrialSettings
) -> tuple[Trial, ...]:
    """Blocks put together to one Trial for each traffic; says when it is void."""
    trials = []
    for traffic in traffics:
        own = tuple(blocks[index][traffic.name] for index in sorted(blocks) if traffic.name in blocks[index])
        events = [block.requests for block in own]
        declared = registry.load_shape(traffic.load_shape).concurrency(traffic.options)
        why_void = void.reason(
            events,
            forced_lengths=settings.forced_lengths and not trial_notes.lengths_were_free(own),
            ttft_target_s=settings.ttft_target_s,
            cache=traffic.cache,
            wanted=sum(len(requests_of_block(traffic, settings, block.index)) for block in own),
        )
        trials.append(
            Trial(
                candidate,
                traffic.name,
                declared or max(map(peak_in_flight, events), default=0),
                own,
                why_void,
                batching_seen=max((b.batching_seen for b in own if b.batching_seen is not None), default=None),
                cache=traffic.cache,
                notes=trial_notes.of(traffic, own),
            )
        )
    return tuple(trials)


def requests_of_block(traffic: Traffic, settings: TrialSettings, index: int) -> tuple[TrafficRequest, ...]:
    """The requests of one block: consecutive ones, from where the last block stopped, so that blocks differ.

    Fresh processes go round when the traffic is used up; in a warm process a prompt would meet its own cache.
    """
    available = len(traffic.requests)
    if settings.fresh and settings.requests_per_block is not None and _is_open(traffic):
        slices = _slices(traffic, settings.requests_per_block)
        return slices[index % len(slices)]
    if settings.fresh:
        in_flight = registry.load_shape(traffic.load_shape).concurrency(traffic.options) or 1
        # Two rounds at the declared concurrency: fewer would be all ramp and drain.
        least = ROUNDS_IN_FLIGHT * in_flight if in_flight > 1 else 1
        count = min(max(settings.requests_per_block or available, least), available)
        return tuple(traffic.requests[(index * count + i) % available] for i in range(count))
    share = available // settings.blocks
    count = min(settings.requests_per_block or share, share)
    if count == 0:
        raise UserError(
            f"The traffic {traffic.name!r} has {available} requests and {settings.blocks} blocks need at least one "
            f"each, none of them twice: give more requests or fewer blocks."
        )
    return traffic.requests[index * count : (index + 1) * count]


def _is_open(traffic: Traffic) -> bool:
    return registry.load_shape(traffic.load_shape).due is not None


def _slices(traffic: Traffic, least: int) -> list[tuple[TrafficRequest, ...]]:
    """The schedule cut where half a minute and `least` requests are full; a shorter rest belongs to the last one."""
    due = registry.load_shape(traffic.load_shape).due
    assert due is not None
    times = due(traffic.requests, traffic.options)
    starts = [0]
    for index, time_s in enumerate(times):
        if time_s - times[starts[-1]] >= OPEN_LOOP_SLICE_S and index - starts[-1] >= least:
            starts.append(index)
    enough = len(times) - starts[-1] >= least and times[-1] - times[starts[-1]] >= OPEN_LOOP_SLICE_S / 2
    if len(starts) > 1 and not enough:
        starts.pop()
    ends = [*starts[1:], len(times)]
    return [traffic.requests[start:end] for start, end in zip(starts, ends, strict=True)]


def _tell(on_block: BlockDone | None, candidate: str, index: int, blocks: Mapping[str, Block]) -> None:
    if on_block is not None:
        on_block(candidate, index, blocks)


class _Process:
    """One process of the engine and what watches it."""

    def __init__(self, start: Start, settings: TrialSettings) -> None:
        self._start, self._settings = start, settings
        self._sampler = MemorySampler(period_s=settings.memory_period_s)
        self._counters = counters.find()
        self._engine: AbstractContextManager[Running] | None = None
        self._loaded: MemorySample | None = None
        self._startup: StartUp | None = None
        self._kv = KvProbe(None, "no long answer was made for it")

    def __enter__(self) -> _Process:
        self._sampler.__enter__()
        try:
            self._engine = self._start()
            self._running = self._engine.__enter__()
        except BaseException:
            self._sampler.stop()
            raise
        if not self._running.process_ids():
            self._sampler.stop()
        return self

    def __exit__(self, *error: object) -> None:
        self._sampler.stop()
        assert self._engine is not None
        self._engine.__exit__(None, None, None)

    def measure(self, traffics: Sequence[Traffic], index: int, *, warm_up: bool) -> Mapping[str, Block]:
        """Every traffic in turn. Warm-up of each comes before any is measured."""
        warmed: dict[str, WarmUp] = {}
        if warm_up:
            self._first_answer(traffics)
            warmed = {traffic.name: self._warm_up(traffic, index) for traffic in traffics}
        return {traffic.name: self._measure_one(traffic, index, warmed.get(traffic.name)) for traffic in traffics}

    def _first_answer(self, traffics: Sequence[Traffic]) -> None:
        shortest = min(
            (request for traffic in traffics for request in traffic.requests),
            key=lambda request: sum(len(message.content) for message in request.messages),
        )
        events = self._send("single_stream", {}, requests_like([shortest], 1))
        raise_if_all_failed(events, "warming up")
        if self._running.startup is not None:
            first_token_ns = events[0].chunks[0].arrived_ns - self._running.started_ns
            self._startup = replace(self._running.startup, first_token_ns=first_token_ns)
        self._loaded = self._sampler.sample(without_libraries=True)
        if self._settings.kv_probe_tokens > 0:
            request = replace(requests_like([shortest], 1)[0], output_tokens=self._settings.kv_probe_tokens)
            self._kv = probe_kv_cache(
                self._sampler, self._running.process_ids(), lambda: self._send("single_stream", {}, [request])[0]
            )

    def _warm_up(self, traffic: Traffic, index: int) -> WarmUp:
        """With the lengths of this block's own requests; an open loop as a small closed one, whatever its gaps."""
        in_flight = registry.load_shape(traffic.load_shape).concurrency(traffic.options)
        in_flight = in_flight or OPEN_LOOP_WARM_UP_IN_FLIGHT
        requests = requests_of_block(traffic, self._settings, index)

        def send(round_: Sequence[TrafficRequest]) -> Sequence[RequestEvents]:
            events = self._send("closed_loop", {"concurrency": in_flight}, round_)
            raise_if_all_failed(events, "warming up")
            return events

        return until_at_rest(requests, max(self._settings.warmup_requests, in_flight), send)

    def _fill_cache(self, traffic: Traffic, requests: Sequence[TrafficRequest]) -> None:
        """Every prompt once, one token each, so that a prefix cache holds it."""
        in_flight = registry.load_shape(traffic.load_shape).concurrency(traffic.options)
        once = [replace(request, output_tokens=1) for request in requests]
        events = self._send("closed_loop", {"concurrency": in_flight or OPEN_LOOP_WARM_UP_IN_FLIGHT}, once)
        raise_if_all_failed(events, "filling the prefix cache")

    def _measure_one(self, traffic: Traffic, index: int, warm_up: WarmUp | None) -> Block:
        requests = requests_of_block(traffic, self._settings, index)
        if traffic.cache == "warm":
            self._fill_cache(traffic, requests)
        processes = self._running.process_ids()
        busy_before = background.read_busy(processes)
        energy_before = energy.read(self._counters, time.monotonic_ns())
        events = self._send(traffic.load_shape, traffic.options, requests)
        energy_after = energy.read(self._counters, time.monotonic_ns())
        busy_after = background.read_busy(processes)
        self._sampler.sample()
        not_forced = self._settings.forced_lengths and not self._running.dialect.ignore_eos
        held_back = background.throttling_note(busy_before, busy_after)
        return Block(
            index=index,
            requests=events,
            startup=self._startup if warm_up is not None else None,
            memory=self._memory(),
            energy=energy.between(self._counters, energy_before, energy_after),
            fresh_process=self._settings.fresh,
            # Somebody else's server may run on this very machine, and its work is no disturbance.
            background_load=background.background_load(busy_before, busy_after) if processes else None,
            note="; ".join(filter(None, (held_back, trial_notes.NOT_FORCED if not_forced else ""))),
            warm_up=warm_up,
            batching_seen=self._batching_seen(events),
        )

    def _batching_seen(self, events: Sequence[RequestEvents]) -> int | None:
        """The host counts since it began, warm-up and the other traffics too, so no more than were in flight here."""
        info = self._running.host_info()
        return None if info is None else min(info.batching_seen, peak_in_flight(events))

    def _memory(self) -> Memory | None:
        processes = self._running.process_ids()
        return summarize(
            self._sampler.samples(),
            processes,
            loaded=self._loaded,
            high_water_bytes=high_water_bytes(processes),
            kv=kv_part(self._kv, self._running.host_info()),
        )

    def _send(
        self,
        load_shape: str,
        options: Mapping[str, str | int | float | bool | None],
        requests: Sequence[TrafficRequest],
    ) -> tuple[RequestEvents, ...]:
        settings = SendSettings(
            self._settings.forced_lengths, self._settings.request_timeout_s, retries=self._settings.retries
        )
        return drive(self._running, registry.load_shape(load_shape), options, requests, settings)
