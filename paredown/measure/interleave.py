"""Candidates measured in turns (A B B A …), so that slow changes of the machine meet all of them alike.

A round that other processes disturbed is measured again at the end, as often as the settings allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paredown.errors import EngineError
from paredown.measure.rounds import disturbed
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


def turns(candidates: Sequence[str], blocks: int, first: int = 0) -> tuple[Turn, ...]:
    """Rounds `first` to `blocks` − 1, each in the opposite order of the last: A B, B A, A B …"""
    order = []
    for block in range(first, blocks):
        order += [Turn(name, block) for name in (candidates if block % 2 == 0 else reversed(candidates))]
    return tuple(order)


def rounds_wanted(blocks: Sequence[Block], wanted: int, most_again: int) -> int:
    """How many rounds there have to be, so that `wanted` of them are undisturbed; at most `most_again` more.

    blocks: of every candidate, under the traffic that is judged, in the rounds measured so far
    """
    return wanted + min(most_again, len(disturbed(blocks)))


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
    settings.rounds_again: how many disturbed rounds may be measured again; their blocks are kept, and the comparison
        leaves them out
    An engine that fails ends the turns of its candidate and no other's.
    """
    settings = replace(settings or TrialSettings(), fresh=True)
    finished = {name: dict((done or {}).get(name, {})) for name in starts}
    failed: dict[str, EngineError] = {}

    def measure(turn: Turn) -> None:
        if turn.candidate in failed or turn.block in finished[turn.candidate]:
            return
        try:
            blocks = run_block(starts[turn.candidate], traffics, settings, turn.block)
        except EngineError as error:
            failed[turn.candidate] = error
            return
        finished[turn.candidate][turn.block] = blocks
        if on_block is not None:
            on_block(turn.candidate, turn.block, blocks)

    measured, wanted = 0, settings.blocks
    while measured < wanted:
        for turn in turns(tuple(starts), wanted, measured):
            measure(turn)
        judged = [one[traffics[0].name] for blocks in finished.values() for one in blocks.values()]
        # A candidate that failed has no pairs to be had, so nothing is measured again.
        measured, again = wanted, 0 if failed else settings.rounds_again
        wanted = max(wanted, rounds_wanted(judged, settings.blocks, again))
    return Interleaved(
        {name: assemble(name, traffics, blocks, settings) for name, blocks in finished.items() if blocks}, failed
    )
