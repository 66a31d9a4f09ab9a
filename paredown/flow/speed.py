"""Trials of a run: the A/A control of the baseline, short trials that screen, interleaved ones that decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from paredown import registry
from paredown.contracts import Evidence
from paredown.errors import EngineError
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Stage
from paredown.measure import figures, interleave, rounds, trial
from paredown.measure.running import Running
from paredown.measure.trial import TrialSettings
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate
from paredown.records.events import Block, Trial
from paredown.records.figure import Figure
from paredown.records.verdict import AgainstBaseline
from paredown.spec import limits
from paredown.spec.schema import RunSpec

CONTROL_BLOCKS = 2
FINAL_BLOCKS = 6
"""Five miss a slowdown of 10 % too often where processes differ by 3 % (`benchmarks/bench_noise.py`)."""
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
    return TrialSettings(
        blocks=blocks,
        requests_per_block=REQUESTS_PER_BLOCK if blocks > 1 else 2 * REQUESTS_PER_BLOCK,
        kv_probe_tokens=kv_probe_tokens,
        ttft_target_s=limits.ttft_s(prepared.targets),
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
    chosen = replace(settings(prepared, blocks=blocks, kv_probe_tokens=KV_PROBE_TOKENS), rounds_again=ROUNDS_AGAIN)
    done = _blocks_before(context, key, tuple(starts))
    total, count = blocks * len(starts), sum(map(len, done.values()))

    def keep(name: str, index: int, finished: Mapping[str, Block]) -> None:
        nonlocal count
        count += 1
        context.store.put("blocks", f"{key}/{name}/{index}", FinishedBlock(index, finished), bulk=True)
        again = " again, because others disturbed one" if index >= blocks else f" of {blocks}"
        stage.update(min(1.0, count / total), f"{name}, block {index + 1}{again}")

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


@dataclass(frozen=True)
class Terms:
    """What a request sets for its figures: a price, and what each of the measured requests has to keep."""

    price_usd_per_hour: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)

    def evidence(self, trial: Trial | None, artifact: Artifact | None) -> Evidence:
        return Evidence(trial, artifact, self.price_usd_per_hour, self.limits)


def terms_of(spec: RunSpec, prepared: Prepared) -> Terms:
    return Terms(spec.price_usd_per_hour, limits.per_request(prepared.targets))


def compute(trials: Trials | None, artifact: Artifact | None, terms: Terms) -> tuple[Figure, ...]:
    """Every metric under the first traffic; a pure function of what is stored."""
    first = trials.trials[0] if trials and trials.trials else None
    return figures.compute(terms.evidence(first, artifact))


@dataclass(frozen=True)
class Sides:
    """What the figures of both sides of a comparison need beside their trials."""

    own: Artifact | None
    baseline: Artifact | None
    terms: Terms


def against_baseline(
    own: Trials | None, beside: Trials | None, sides: Sides, *, in_turns: bool, control: tuple[Trials, Trials]
) -> tuple[AgainstBaseline, ...]:
    """Every figure of a candidate over the baseline's, with the floor that the baseline's A/A control gives it.

    Empty where one of the two was not measured.
    """
    if own is None or beside is None:
        return ()
    floors = rounds.floors(control_ratios(*control, sides.baseline), LEAST_NOISE)
    pair = (
        sides.terms.evidence(own.trials[0], sides.own),
        sides.terms.evidence(beside.trials[0], sides.baseline),
    )
    return rounds.against(*pair, in_turns=in_turns, floors=floors, least_floor=LEAST_NOISE)


def control_ratios(first: Trials, again: Trials, artifact: Artifact | None) -> tuple[AgainstBaseline, ...]:
    """The A/A control: the baseline over itself, by the same statistic as a candidate over the baseline."""
    pair = Evidence(first.trials[0], artifact), Evidence(again.trials[0], artifact)
    return rounds.against(*pair, in_turns=True)


def noise_floor(first: Trials, again: Trials, prepared: Prepared) -> float:
    """Relative difference of decode speed between two trials of the same model, at least 2 %: less is noise."""
    floors = rounds.floors(control_ratios(first, again, prepared.artifact), LEAST_NOISE)
    return floors.get(DECODE_SPEED, LEAST_NOISE)


def noise_of_one_block(first: Trials, again: Trials) -> float:
    """The largest relative difference of decode speed between two blocks of the same model, at least 2 %.

    What two short trials of one block each differ by; the floor of a comparison over several rounds is lower.
    """
    metric = [registry.metric(DECODE_SPEED)]
    speeds = [
        block[DECODE_SPEED]
        for trials in (first, again)
        for block in rounds.by_block(Evidence(trials.trials[0]), metric).values()
        if DECODE_SPEED in block
    ]
    return max(LEAST_NOISE, max(speeds) / min(speeds) - 1.0) if speeds else LEAST_NOISE


def screen_key(candidate: Candidate) -> str:
    return f"screen/{candidate.name}/{candidate.digest()[:16]}"


def final_key(candidate: Candidate) -> str:
    return f"final/{candidate.name}/{candidate.digest()[:16]}"


def _blocks_before(context: RunContext, key: str, names: Sequence[str]) -> dict[str, dict[int, Mapping[str, Block]]]:
    found: dict[str, dict[int, Mapping[str, Block]]] = {name: {} for name in names}
    for name in names:
        for index in range(FINAL_BLOCKS + ROUNDS_AGAIN):
            block = context.store.find("blocks", f"{key}/{name}/{index}", FinishedBlock)
            if block is not None:
                found[name][block.index] = block.traffics
    return found
