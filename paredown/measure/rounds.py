"""What trials that were measured in turns say together: a round is one block of each, next to each other in time."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from paredown import registry
from paredown.contracts import Evidence, Metric
from paredown.measure import figures
from paredown.records.events import Block
from paredown.records.timing import NOTABLE_BACKGROUND
from paredown.records.verdict import AgainstBaseline
from paredown.stats.ratios import bootstrap_ratio, paired_ratio

CENTRAL = ("", "p50", "mean")
"""Statistics of which a block has its own; a tail of four requests is only their largest."""
SHORTEST_S = 1.0
"""Of a block whose background load is looked at: the kernel counts processor time in hundredths of a second."""


def disturbed(blocks: Sequence[Block]) -> frozenset[int]:
    """Rounds in which a block met clearly more background load than is usual here (the median of all blocks).

    Told by the load alone and never by the speed, so that leaving them out favours nobody. A machine that is always
    busy disturbs no round more than another.
    """
    known = {
        id(block): block.background_load
        for block in blocks
        if block.background_load is not None and _seconds(block) >= SHORTEST_S
    }
    if len(known) < 3:
        return frozenset()
    limit = statistics.median(known.values()) + NOTABLE_BACKGROUND
    return frozenset(block.index for block in blocks if known.get(id(block), 0.0) > limit)


def against(
    own: Evidence,
    beside: Evidence,
    *,
    in_turns: bool,
    metrics: Sequence[Metric] | None = None,
    floors: Mapping[str, float] | None = None,
    least_floor: float = 0.0,
) -> tuple[AgainstBaseline, ...]:
    """Every figure of `own` that rests on its trial over that of `beside`; empty when either trial is missing or void.

    in_turns: block i of one was measured beside block i of the other
    floors:   what the baseline differs from itself by, by the name of the figure (fraction); else `least_floor`
    """
    if own.trial is None or beside.trial is None or own.trial.void or beside.trial.void:
        return ()
    wanted = [m for m in metrics or registry.metrics() if figures.rests_on_the_trial(m, own)]
    own_blocks, beside_blocks = by_block(own, wanted), by_block(beside, wanted)
    left_out = disturbed((*own.trial.blocks, *beside.trial.blocks)) if in_turns else frozenset()
    found = []
    for name in dict.fromkeys(name for one in own_blocks.values() for name in one):
        a = {i: one[name] for i, one in own_blocks.items() if name in one}
        b = {i: one[name] for i, one in beside_blocks.items() if name in one}
        both = [i for i in a if i in b]
        # Limits need two rounds: where fewer were undisturbed, all of them count.
        quiet = [i for i in both if i not in left_out]
        rounds = quiet if len(quiet) > 1 else both
        if not (rounds if in_turns else a and b):
            continue
        ratio = (
            paired_ratio([a[i] for i in rounds], [b[i] for i in rounds])
            if in_turns
            else bootstrap_ratio(list(a.values()), list(b.values()))
        )
        found.append(
            AgainstBaseline(
                name,
                ratio.ratio,
                ratio.low,
                ratio.high,
                ratio.blocks,
                in_turns,
                (floors or {}).get(name, least_floor),
                ratio.confidence,
                _note(left_out, both, rounds) if in_turns else "not measured in turns",
            )
        )
    return tuple(found)


def floors(control: Sequence[AgainstBaseline], least: float) -> Mapping[str, float]:
    """What a model differs from itself by in its A/A control, as a fraction, by figure; at least `least`."""
    return {one.figure: max(least, one.ratio - 1.0, 1.0 / one.ratio - 1.0) for one in control}


def _note(left_out: frozenset[int], both: Sequence[int], rounds: Sequence[int]) -> str:
    met = [i for i in both if i in left_out]
    if not met:
        return ""
    count = f"{len(met)} of {len(both)} rounds"
    return f"{count} met more load from other processes than the rest" + (
        ", and are left out" if len(rounds) < len(both) else ", and too few are left without them"
    )


def by_block(evidence: Evidence, metrics: Sequence[Metric]) -> Mapping[int, Mapping[str, float]]:
    """Central figures of each block by itself, by block and name; those above zero, of which there can be a ratio."""
    trial = evidence.trial
    assert trial is not None
    return {
        block.index: {
            figure.name: figure.value
            for figure in figures.compute(replace(evidence, trial=replace(trial, blocks=(block,))), metrics)
            if figure.value is not None and figure.value > 0 and figure.statistic in CENTRAL
        }
        for block in trial.blocks
    }


def _seconds(block: Block) -> float:
    times = [(r.sent_ns, r.finished_ns or (r.chunks[-1].arrived_ns if r.chunks else r.sent_ns)) for r in block.requests]
    return (max(end for _, end in times) - min(sent for sent, _ in times)) / 1e9 if times else 0.0
