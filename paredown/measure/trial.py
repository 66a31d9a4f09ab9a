"""One candidate under one or more traffics, in blocks: raw events, memory, energy and what else was going on.

A block is a fresh process of the engine, or a slice of one warm process; either way no prompt is sent twice to the
same process. Loading and warm-up are over before the first request is due, and are reported as start-up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from paredown import registry
from paredown.errors import UserError
from paredown.machine import energy as counters
from paredown.measure import background, energy, void
from paredown.measure.kv_probe import KvProbe, probe_kv_cache
from paredown.measure.load import SendSettings, drive, raise_if_all_failed
from paredown.measure.memory import MemorySample, MemorySampler, high_water_bytes, summarize
from paredown.measure.running import Running, Start
from paredown.measure.warm_up import requests_like
from paredown.records.events import Block, Memory, RequestEvents, StartUp, Trial
from paredown.records.timing import peak_in_flight
from paredown.records.traffic import Traffic, TrafficRequest


@dataclass(frozen=True)
class TrialSettings:
    """How to measure.

    blocks:             fresh processes, or slices of one warm process when `fresh` is False
    requests_per_block: of each traffic; None = all of them (fresh), an equal share (warm)
    warmup_requests:    at least; never fewer than the traffic has in flight
    kv_probe_tokens:    length of an answer during which the growth of memory is taken for the KV cache; 0 = do not
    ttft_target_s:      from the user's targets; bounds how late the client may send
    rounds_again:       how many rounds that others disturbed may be measured again (in turns only)
    """

    blocks: int = 5
    fresh: bool = True
    requests_per_block: int | None = None
    warmup_requests: int = 2
    request_timeout_s: float = 300.0
    forced_lengths: bool = True
    kv_probe_tokens: int = 0
    ttft_target_s: float | None = None
    memory_period_s: float = 0.1
    rounds_again: int = 0


ROUNDS_IN_FLIGHT = 2

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
        in_flight = declared or max(map(peak_in_flight, events), default=0)
        why_void = void.reason(events, forced_lengths=settings.forced_lengths, ttft_target_s=settings.ttft_target_s)
        trials.append(Trial(candidate, traffic.name, in_flight, own, why_void))
    return tuple(trials)


def requests_of_block(traffic: Traffic, settings: TrialSettings, index: int) -> tuple[TrafficRequest, ...]:
    """The requests of one block: consecutive ones, from where the last block stopped, so that blocks differ.

    Fresh processes go round when the traffic is used up; in a warm process a prompt would meet its own cache.
    """
    available = len(traffic.requests)
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
            self._sampler.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._sampler.__exit__()
        assert self._engine is not None
        self._engine.__exit__(None, None, None)

    def measure(self, traffics: Sequence[Traffic], index: int, *, warm_up: bool) -> Mapping[str, Block]:
        """Every traffic in turn. Warm-up of each comes before any is measured."""
        if warm_up:
            self._first_answer(traffics)
            for traffic in traffics:
                self._warm_up(traffic)
        return {traffic.name: self._measure_one(traffic, index, reports_startup=warm_up) for traffic in traffics}

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

    def _warm_up(self, traffic: Traffic) -> None:
        in_flight = registry.load_shape(traffic.load_shape).concurrency(traffic.options) or 1
        requests = requests_like(traffic.requests, max(self._settings.warmup_requests, in_flight))
        raise_if_all_failed(self._send(traffic.load_shape, traffic.options, requests), "warming up")

    def _measure_one(self, traffic: Traffic, index: int, *, reports_startup: bool) -> Block:
        requests = requests_of_block(traffic, self._settings, index)
        processes = self._running.process_ids()
        busy_before = background.read_busy(processes)
        energy_before = energy.read(self._counters, time.monotonic_ns())
        events = self._send(traffic.load_shape, traffic.options, requests)
        energy_after = energy.read(self._counters, time.monotonic_ns())
        busy_after = background.read_busy(processes)
        self._sampler.sample()
        return Block(
            index=index,
            requests=events,
            startup=self._startup if reports_startup else None,
            memory=self._memory(),
            energy=energy.between(self._counters, energy_before, energy_after),
            fresh_process=self._settings.fresh,
            background_load=background.background_load(busy_before, busy_after),
            note=background.throttling_note(busy_before, busy_after),
        )

    def _memory(self) -> Memory | None:
        processes = self._running.process_ids()
        return summarize(
            self._sampler.samples(),
            processes,
            loaded=self._loaded,
            high_water_bytes=high_water_bytes(processes),
            kv_cache_bytes=self._kv.growth_bytes,
            kv_cache_note=self._kv.note,
        )

    def _send(
        self,
        load_shape: str,
        options: Mapping[str, str | int | float | bool | None],
        requests: Sequence[TrafficRequest],
    ) -> tuple[RequestEvents, ...]:
        settings = SendSettings(self._settings.forced_lengths, self._settings.request_timeout_s)
        return drive(self._running, registry.load_shape(load_shape), options, requests, settings)
