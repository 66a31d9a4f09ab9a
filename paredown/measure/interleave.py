"""Candidates measured in turns (A B B A …), so that slow changes of the machine meet all of them alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paredown.errors import EngineError
from paredown.measure.running import Start
from paredown.measure.trial import BlockDone, TrialSettings, assemble, run_block
from paredown.records.events import Block, Trial
from paredown.records.traffic import Traffic


@dataclass(frozen=True)
class Interleaved:
    """trials: of each candidate, one a traffic; failed: candidates whose engine failed, with the error.

    A candidate that failed keeps the trials of the blocks that it finished, if there are any.
    """

    trials: Mapping[str, tuple[Trial, ...]]
    failed: Mapping[str, EngineError] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    candidate: str
    block: int


def turns(candidates: Sequence[str], blocks: int) -> tuple[Turn, ...]:
    """Each round in the opposite order of the last: A B, B A, A B …"""
    order = []
    for block in range(blocks):
        order += [Turn(name, block) for name in (candidates if block % 2 == 0 else reversed(candidates))]
    return tuple(order)


def run(
    starts: Mapping[str, Start],
    traffics: Sequence[Traffic],
    settings: TrialSettings | None = None,
    *,
    on_block: BlockDone | None = None,
    done: Mapping[str, Mapping[int, Mapping[str, Block]]] | None = None,
) -> Interleaved:
    """Measure candidates in turns, each block in a fresh process; block i of each meets the same requests.

    done: finished blocks of an interrupted run, by candidate and block index
    An engine that fails ends the turns of its candidate and no other's.
    """
    settings = replace(settings or TrialSettings(), fresh=True)
    finished = {name: dict((done or {}).get(name, {})) for name in starts}
    failed: dict[str, EngineError] = {}
    for turn in turns(tuple(starts), settings.blocks):
        if turn.candidate in failed or turn.block in finished[turn.candidate]:
            continue
        try:
            blocks = run_block(starts[turn.candidate], traffics, settings, turn.block)
        except EngineError as error:
            failed[turn.candidate] = error
            continue
        finished[turn.candidate][turn.block] = blocks
        if on_block is not None:
            on_block(turn.candidate, turn.block, blocks)
    return Interleaved(
        {name: assemble(name, traffics, blocks, settings) for name, blocks in finished.items() if blocks}, failed
    )
