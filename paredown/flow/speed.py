"""Trials of a run: the A/A control of the baseline, short trials that screen, interleaved ones that decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from paredown.contracts import Evidence
from paredown.errors import EngineError
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Stage
from paredown.measure import figures, interleave, trial
from paredown.measure.running import Running
from paredown.measure.trial import TrialSettings
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate
from paredown.records.events import Block, Trial
from paredown.records.figure import Figure

CONTROL_BLOCKS = 2
FINAL_BLOCKS = 5
ROUNDS_AGAIN = 2
"""How many rounds that other processes disturbed are measured again."""
REQUESTS_PER_BLOCK = 4
KV_PROBE_TOKENS = 192
DECODE_SPEED = "decode_speed"
LEAST_NOISE = 0.02
Start = Callable[[], AbstractContextManager[Running]]


@dataclass(frozen=True)
class Trials:
    """One trial for each traffic, the first of which is judged."""

    trials: tuple[Trial, ...]

    def under(self, traffic: str) -> Trial | None:
        return next((one for one in self.trials if one.traffic == traffic), None)


def settings(prepared: Prepared, *, blocks: int, kv_probe_tokens: int = 0) -> TrialSettings:
    """How to measure here: forced lengths, a few requests a block, the sending rule of the user's TTFT target."""
    limits = [t.value for t in prepared.targets if t.metric == "ttft" and not t.relative]
    return TrialSettings(
        blocks=blocks,
        requests_per_block=REQUESTS_PER_BLOCK if blocks > 1 else 2 * REQUESTS_PER_BLOCK,
        kv_probe_tokens=kv_probe_tokens,
        ttft_target_s=min(limits, default=None),
    )


def screen(context: RunContext, prepared: Prepared, candidate: Candidate, start: Start) -> Trials:
    """A short trial in one fresh process under the first traffic; stored, and not repeated."""

    def measure() -> Trials:
        chosen = settings(prepared, blocks=1)
        return Trials(trial.run(start, candidate.name, prepared.traffics[:1], chosen))

    return context.store.once("trial", screen_key(candidate), Trials, measure, bulk=True)


def in_turns(
    context: RunContext,
    prepared: Prepared,
    starts: Mapping[str, Start],
    key: str,
    stage: Stage,
    *,
    blocks: int,
) -> dict[str, Trials]:
    """Interleaved trials in fresh processes under every traffic; each finished block is stored at once.

    key: names this comparison in the record. Raises the EngineError of the first engine that failed.
    """
    chosen = settings(prepared, blocks=blocks, kv_probe_tokens=KV_PROBE_TOKENS)
    done = _blocks_before(context, key, tuple(starts))
    total, count = blocks * len(starts), sum(map(len, done.values()))

    def keep(name: str, index: int, finished: Mapping[str, Block]) -> None:
        nonlocal count
        count += 1
        context.store.put("blocks", f"{key}/{name}/{index}", FinishedBlock(index, finished), bulk=True)
        stage.update(count / total, f"{name}, block {index + 1} of {blocks}")

    result = interleave.run(starts, prepared.traffics, chosen, on_block=keep, done=done)
    for name, error in result.failed.items():
        raise EngineError(f"{name} failed while it was measured: {error}", error.detail)
    made = {name: Trials(trials) for name, trials in result.trials.items()}
    for name, trials in made.items():
        if context.store.find("trial", f"{key}/{name}", Trials) is None:
            context.store.put("trial", f"{key}/{name}", trials, bulk=True)
    return made


@dataclass(frozen=True)
class FinishedBlock:
    """A block of every traffic, as one process gave them."""

    index: int
    traffics: Mapping[str, Block]


def compute(trials: Trials | None, artifact: Artifact | None, price: float | None) -> tuple[Figure, ...]:
    """Every metric under the first traffic; a pure function of what is stored."""
    first = trials.trials[0] if trials and trials.trials else None
    return figures.compute(Evidence(first, artifact, price))


def noise_floor(first: Trials, again: Trials, prepared: Prepared) -> float:
    """Relative difference of decode speed between two trials of the same model, at least 2 %: less is noise."""
    speeds = [
        figure.value
        for trials in (first, again)
        for figure in compute(trials, prepared.artifact, None)
        if figure.name == DECODE_SPEED and figure.value
    ]
    return max(LEAST_NOISE, abs(speeds[0] / speeds[1] - 1.0)) if len(speeds) == 2 else LEAST_NOISE


def screen_key(candidate: Candidate) -> str:
    return f"screen/{candidate.name}/{candidate.digest()[:16]}"


def final_key(candidate: Candidate) -> str:
    return f"final/{candidate.name}/{candidate.digest()[:16]}"


def _blocks_before(context: RunContext, key: str, names: Sequence[str]) -> dict[str, dict[int, Mapping[str, Block]]]:
    found: dict[str, dict[int, Mapping[str, Block]]] = {name: {} for name in names}
    for name in names:
        for index in range(FINAL_BLOCKS):
            block = context.store.find("blocks", f"{key}/{name}/{index}", FinishedBlock)
            if block is not None:
                found[name][block.index] = block.traffics
    return found
