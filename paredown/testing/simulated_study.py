"""Trials that were never run: raw events of two candidates measured in turns, with the noise of a real machine.

For tests and benchmarks of what is concluded from timings. Each kind of noise is a factor on the time between tokens
(and before the first), so that a share of 0.1 makes them 10 % longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paredown.records.events import Block, ChunkEvent, RequestEvents, Trial

TOKENS = 24
STEP_S = 0.030
FIRST_S = 0.200
STALL_STEPS = 5.0
BLOCK_S = 15.0
"""A block with the start of its process: what drift and episodes are laid over."""


@dataclass(frozen=True)
class Noise:
    """What a machine does to timings, as shares (standard deviations unless said otherwise).

    request:    of each request by itself; token: of each token by itself; first: of each time to first token
    level:      of each process; a pair of numbers: drawn anew for each study between them
    drift:      how far a slow change takes the machine over the whole study, up or down
    wander:     of the step that a random walk makes from one block to the next
    episodes:   how many spans of background load there are; each slows by `episode` and covers `episode_blocks`
    seen:       whether the load of an episode shows in the kernel's counters
    heavy_tail: requests and processes vary with Student's t of 3 degrees of freedom, and one token in 200 stalls for
                several steps
    """

    request: float = 0.02
    token: float = 0.05
    first: float = 0.03
    level: tuple[float, float] = (0.0, 0.0)
    drift: float = 0.0
    wander: float = 0.0
    episodes: int = 0
    episode: float = 0.30
    episode_blocks: tuple[float, float] = (0.5, 3.0)
    seen: bool = True
    heavy_tail: bool = False


@dataclass(frozen=True)
class Place:
    """A block in the order of measuring: whose it is, its round, and how much slower the machine is (0 = usual)."""

    candidate: str
    block: int
    slower: float
    background_load: float


def places(order: Sequence[tuple[str, int]], noise: Noise, random: np.random.Generator) -> tuple[Place, ...]:
    """What the machine does at each place of `order` (candidate, round)."""
    count = len(order)
    level = random.uniform(*noise.level)
    spread = random.standard_t(3, count) / 3**0.5 if noise.heavy_tail else random.normal(size=count)
    slower = level * spread + noise.drift * random.uniform(-1, 1) * np.arange(count) / max(1, count - 1)
    slower += np.cumsum(random.normal(0.0, noise.wander, count))
    covered = np.zeros(count)
    for _ in range(noise.episodes):
        length = random.uniform(*noise.episode_blocks)
        start = random.uniform(-length, count)
        at = np.arange(count)
        covered = np.maximum(covered, np.clip(np.minimum(at + 1, start + length) - np.maximum(at, start), 0.0, 1.0))
    slower += noise.episode * covered
    load = 0.02 + 0.03 * random.random(count) + (0.5 * covered if noise.seen else 0.0)
    return tuple(Place(name, block, float(slower[i]), float(load[i])) for i, (name, block) in enumerate(order))


def study(
    order: Sequence[tuple[str, int]],
    noise: Noise,
    slowdown: Mapping[str, float],
    seed: int,
    *,
    requests: int = 4,
) -> Mapping[str, Trial]:
    """One trial a candidate, its blocks in the order of rounds.

    order:    (candidate, round) as they are measured; slowdown: 0.1 = its times are 10 % longer than those of others
    """
    random = np.random.default_rng(seed)
    made: dict[str, list[Block]] = {}
    for at, place in enumerate(places(order, noise, random)):
        factor = (1.0 + slowdown.get(place.candidate, 0.0)) * float(np.exp(place.slower))
        # Prompts of one round are the same for every candidate, and so is what they cost.
        prompts = np.random.default_rng((seed, place.block)).lognormal(0.0, 0.3, requests)
        block = _block(place, at, factor, prompts.tolist(), noise, random)
        made.setdefault(place.candidate, []).append(block)
    return {
        name: Trial(name, "simulated", 1, tuple(sorted(blocks, key=lambda block: block.index)))
        for name, blocks in made.items()
    }


def _block(
    place: Place, at: int, factor: float, prompts: Sequence[float], noise: Noise, random: np.random.Generator
) -> Block:
    now_s = at * BLOCK_S
    events = []
    for number, prompt in enumerate(prompts):
        own = random.standard_t(3) / 3**0.5 if noise.heavy_tail else random.normal()
        pace = factor * float(np.exp(noise.request * own))
        first_s = FIRST_S * float(prompt) * pace * float(np.exp(random.normal(0.0, noise.first)))
        steps = STEP_S * pace * np.exp(random.normal(0.0, noise.token, TOKENS - 1))
        if noise.heavy_tail:
            stalled = random.random(TOKENS - 1) < 0.005
            steps = steps + stalled * STEP_S * random.exponential(STALL_STEPS, TOKENS - 1)
        arrived = now_s + first_s + np.concatenate([[0.0], np.cumsum(steps)])
        events.append(_request(f"{place.block}-{number}", now_s, arrived.tolist()))
        now_s = float(arrived[-1])
    return Block(
        place.block, tuple(events), None, None, None, fresh_process=True, background_load=place.background_load
    )


def _request(name: str, sent_s: float, arrived_s: Sequence[float]) -> RequestEvents:
    sent_ns = round(sent_s * 1e9)
    chunks = tuple(ChunkEvent(round(at * 1e9), (1,)) for at in arrived_s)
    return RequestEvents(
        id=name,
        scheduled_ns=sent_ns,
        sent_ns=sent_ns,
        chunks=chunks,
        finished_ns=chunks[-1].arrived_ns,
        prompt_tokens=100,
        output_tokens=len(chunks),
        wanted_tokens=len(chunks),
        finish_reason="length",
    )
