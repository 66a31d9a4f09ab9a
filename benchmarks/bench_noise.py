"""How often a planted slowdown of 10 % is found, and how often a model differs from itself, under kinds of noise.

Studies are simulated as raw events in the order in which trials are measured in turns, and judged by what judges real
ones. Beside ours stand what is usual elsewhere: the medians of each side with a bootstrap, and Welch's t on the blocks
of each side. `found` needs ≥ 95 %, `A/A` ≤ 5 %. A difference counts when the limits exclude none; a run reports it
when it is also beyond the floor of its own A/A control, which is simulated too (`reported`). Run:
python benchmarks/bench_noise.py [STUDIES] [A/A STUDIES] (100 and 1,000).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind

from paredown import registry
from paredown.contracts import Evidence
from paredown.flow.speed import CONTROL_BLOCKS, FINAL_BLOCKS, LEAST_NOISE, ROUNDS_AGAIN
from paredown.measure import interleave, rounds
from paredown.records.events import Block, Trial
from paredown.records.verdict import AgainstBaseline
from paredown.stats.ratios import bootstrap_ratio
from paredown.testing.simulated_study import Noise, study

SLOWDOWN = 0.10
FOUND, DIFFERS = 0.95, 0.05
MORE_ROUNDS = (6, 7, 8, 10, 12, 16)
SAME_SEED, CONTROL_SEEDS = 10**6, 10**9
MODELS: Mapping[str, Noise] = {
    "requests only": Noise(),
    "process level 2-3 %": Noise(level=(0.02, 0.03)),
    "process level 3 %": Noise(level=(0.03, 0.03)),
    "drift 15 %": Noise(level=(0.02, 0.02), drift=0.15),
    "random walk 2 %": Noise(level=(0.02, 0.02), wander=0.02),
    "load episode, seen": Noise(level=(0.02, 0.02), episodes=1),
    "load episode, unseen": Noise(level=(0.02, 0.02), episodes=1, seen=False),
    "heavy tails": Noise(level=(0.02, 0.02), heavy_tail=True),
}
METRICS = ("decode_speed", "ttft_p50")


@dataclass(frozen=True)
class Found:
    """What one study says of one figure by each way: ours, as a run reports it, medians, Welch."""

    ours: bool
    reported: bool
    medians: bool
    welch: bool


WAYS = ("ours", "reported", "medians", "welch")


def trials(noise: Noise, slowdown: float, seed: int, count: int) -> Mapping[str, Trial]:
    """Two candidates in turns, disturbed rounds measured again, as a run does."""
    order = [(turn.candidate, turn.block) for turn in interleave.turns(("A", "B"), count + ROUNDS_AGAIN)]
    made = study(order, noise, {"B": slowdown}, seed)
    measured, wanted = 0, count
    while measured < wanted:
        measured = wanted
        blocks = [block for trial in made.values() for block in trial.blocks if block.index < measured]
        wanted = max(wanted, interleave.rounds_wanted(blocks, count, ROUNDS_AGAIN))
    return {name: _first(trial, measured) for name, trial in made.items()}


def _first(trial: Trial, count: int) -> Trial:
    blocks: tuple[Block, ...] = tuple(block for block in trial.blocks if block.index < count)
    return Trial(trial.candidate, trial.traffic, trial.concurrency, blocks)


def judge(made: Mapping[str, Trial], control: Mapping[str, Trial], count: int) -> Mapping[str, Found]:
    """Every way, for each figure; the others on the first `count` rounds, because they measure none again."""
    metrics = [registry.metric(name) for name in ("decode_speed", "ttft")]
    pair, same = ([Evidence(trials["B"]), Evidence(trials["A"])] for trials in (made, control))
    floors = rounds.floors(rounds.against(*same, in_turns=True, metrics=metrics), LEAST_NOISE)
    ours = {one.figure: one for one in rounds.against(*pair, in_turns=True, metrics=metrics, floors=floors)}
    sides = [list(rounds.by_block(evidence, metrics).values())[:count] for evidence in pair]
    return {name: _ways(ours[name], *([block[name] for block in side] for side in sides)) for name in METRICS}


def _ways(ours: AgainstBaseline, own: list[float], beside: list[float]) -> Found:
    assert ours.low is not None
    assert ours.high is not None
    return Found(
        ours=not ours.low <= 1.0 <= ours.high,
        reported=bool(ours.differs),
        medians=bool(bootstrap_ratio(own, beside).differs),
        welch=bool(ttest_ind(np.log(own), np.log(beside), equal_var=False).pvalue < 1.0 - ours.confidence),
    )


def rates(noise: Noise, slowdown: float, studies: int, count: int, first_seed: int = 0) -> dict[str, dict[str, float]]:
    """Share of studies that see a difference, by figure and way."""
    found = []
    for seed in range(first_seed, first_seed + studies):
        control = trials(noise, 0.0, CONTROL_SEEDS + seed, CONTROL_BLOCKS)
        found.append(judge(trials(noise, slowdown, seed, count), control, count))
    return {name: {way: float(np.mean([getattr(one[name], way) for one in found])) for way in WAYS} for name in METRICS}


def rounds_that_reach(noise: Noise, name: str, studies: int) -> str:
    """The fewest rounds with which the slowdown is found often enough."""
    for count in MORE_ROUNDS:
        if rates(noise, SLOWDOWN, studies, count)[name]["ours"] >= FOUND:
            return str(count)
    return f"more than {MORE_ROUNDS[-1]}"


def line(label: str, name: str, planted: Mapping[str, float], same: Mapping[str, float], needed: str) -> str:
    found, differs = ("".join(f"{100 * one[way]:9.1f}" for way in WAYS) for one in (planted, same))
    return f"{label:22s}{name:14s}{found}  {differs}{needed:>10s}"


def main(studies: int, same_studies: int) -> int:
    print(f"{FINAL_BLOCKS} rounds, {studies} studies with {SLOWDOWN:.0%} planted, {same_studies} of A/A; shares in %")
    ways = "".join(f"{way:>9s}" for way in WAYS)
    print(f"{'':36s}{'found':>9s}{'':27s}  {'A/A':>9s}")
    print(f"{'noise':22s}{'figure':14s}{ways}  {ways}{'rounds':>10s}")
    failed = False
    for label, noise in MODELS.items():
        planted = rates(noise, SLOWDOWN, studies, FINAL_BLOCKS)
        same = rates(noise, 0.0, same_studies, FINAL_BLOCKS, first_seed=SAME_SEED)
        for name in METRICS:
            enough = planted[name]["ours"] >= FOUND
            needed = str(FINAL_BLOCKS) if enough else rounds_that_reach(noise, name, studies)
            print(line(label, name, planted[name], same[name], needed), flush=True)
        judged = planted["decode_speed"]["ours"] >= FOUND or not noise.seen
        failed |= not judged or same["decode_speed"]["reported"] > DIFFERS
    return 1 if failed else 0


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(*asked, *(100, 1000)[len(asked) :])))
