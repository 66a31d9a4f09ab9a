"""The roofline's decode floor beside the measured step, for every host engine and batch: it is never above it.

    python benchmarks/bench_roofline.py [--engine NAME] [--batch N,N,…] [--quick]

The built-in model, as its source and as every technique makes it whose packages are here. Steps are driven on the
engine's own generation session, without HTTP. Ceilings are measured before the first engine and after each one.
Exits with 1 when a floor is above the median of its steps. `least` is the fastest single step that was seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown import registry
from paredown.contracts import PlanFacts, Proposal, ServedBy
from paredown.environments.installed import missing
from paredown.errors import PareDownError
from paredown.machine import describe as describe_machine
from paredown.models import artifact as artifacts
from paredown.models import describe, source
from paredown.optimize import apply
from paredown.profile import ceilings, run, steps
from paredown.profile.driving import Effort
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.machine import Ceilings, Machine
from paredown.spec.schema import default_cache

FULL, QUICK = Effort(), Effort(prefill_rounds=2, batch_rounds=1, steps=8, warm_up_steps=2)
PROMPT_TOKENS = (128, 512)


@dataclass(frozen=True)
class Line:
    """One placed phase; times in seconds."""

    candidate: str
    phase: str
    batch: int
    tokens: int
    floor_s: float
    measured_s: float
    least_s: float
    samples: int
    bound: str

    @property
    def holds(self) -> bool:
        return self.floor_s <= self.measured_s


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="")
    parser.add_argument("--batch", default="1,2,4,8,16")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(arguments)
    batches = tuple(int(word) for word in asked.batch.split(","))
    cache, machine = default_cache(), describe_machine()
    facts = describe.facts(source.resolve("demo", cache=cache))
    best = ceilings.measure()
    lines: list[Line] = []
    for candidate in candidates(facts, machine, cache, asked.engine):
        try:
            best, found = measure(candidate, facts, best, batches, QUICK if asked.quick else FULL)
        except PareDownError as error:
            print(f"{candidate.name}: left out: {error}", flush=True)
            continue
        show(found)
        lines += found
    said = ", ".join(f"{rate.dtype} {rate.operations_per_second / 1e9:.0f} GFLOP/s" for rate in best.matrix)
    read = ", ".join(f"{b.working_set_bytes >> 20} MiB {b.bytes_per_second / 1e9:.0f}" for b in best.bandwidth)
    print(f"ceilings: {said}; read GB/s at {read}")
    return concluded([line for line in lines if line.phase == "decode"])


def concluded(decode: Sequence[Line]) -> int:
    """Says how often the floor held and by how much; the exit status."""
    if not decode:
        print("nothing was measured")
        return 1
    broken = [line for line in decode if not line.holds]
    nearest = max(decode, key=lambda line: line.floor_s / line.measured_s)
    print(
        f"decode floor ≤ measured: {len(decode) - len(broken)} of {len(decode)} (wanted: all); nearest: "
        f"{nearest.candidate} at batch {nearest.batch}, {nearest.floor_s / nearest.measured_s:.0%} of the time"
    )
    for line in broken:
        over = line.floor_s / line.measured_s - 1
        print(f"BROKEN by {over:.1%}: {line.candidate}, batch {line.batch}")
    return 1 if broken else 0


def candidates(facts: ModelFacts, machine: Machine, cache: Path, only: str) -> Iterator[Candidate]:
    """The source and whatever the techniques make of it, on each host engine that is installed and opens it."""
    original = artifacts.describe(facts.path, format="hf", parameters=facts.parameters)
    made = {"source": original, **dict(techniques_applied(facts, machine, cache, original))}
    for engine in registry.engines():
        if engine.served_by is not ServedBy.HOST or (only and engine.name != only):
            continue
        for name, artifact in made.items():
            if artifact.format not in engine.opens:
                continue
            reason = missing(engine.needs)
            if reason:
                print(f"{engine.name}: left out: {reason}", flush=True)
                break
            options = engine.resolve(artifact, machine, {})
            yield Candidate(f"{engine.name}/{name}", Rung.BASELINE, engine.name, options, {"main": artifact})


def techniques_applied(
    facts: ModelFacts, machine: Machine, cache: Path, original: Artifact
) -> Iterator[tuple[str, Artifact]]:
    """The first proposal of each technique that takes the source and needs nothing else, from the cache or made."""
    for technique in registry.techniques():
        reason = missing(technique.needs)
        offers = [offer for offer in technique.propose(PlanFacts(facts, machine)) if isinstance(offer, Proposal)]
        simple = [offer for offer in offers if len(offer.steps) == 1]
        if technique.apply is None or technique.needs.calibration or reason or not simple:
            print(f"{technique.name}: left out: {reason or 'not applied to the source alone'}", flush=True)
            continue
        try:
            yield (
                technique.name,
                apply.make(
                    technique, simple[0].steps[0], {"main": original},
                    cache=cache, parameters=facts.parameters, on_progress=lambda _fraction, _text: None,
                ),
            )  # fmt: skip
        except PareDownError as error:
            print(f"{technique.name}: left out: {error}", flush=True)


def measure(
    candidate: Candidate, facts: ModelFacts, best: Ceilings, batches: Sequence[int], effort: Effort
) -> tuple[Ceilings, list[Line]]:
    """Steps of one candidate, placed by the best ceilings seen so far."""
    engine = registry.engine(candidate.engine)
    with tempfile.TemporaryDirectory() as scratch:
        work = steps.work_of(
            engine, candidate, facts, device="cpu", batches=batches, prompt_tokens=PROMPT_TOKENS,
            results=Path(scratch) / "steps.jsonl", effort=effort,
        )  # fmt: skip
        measured = run.place_steps(
            engine, candidate, facts, best, work, directory=Path(scratch), python=Path(sys.executable),
            on_progress=lambda _fraction, _text: None,
        )  # fmt: skip
        least = {
            (timed.phase, timed.batch, timed.tokens): min(timed.times_ns) / 1e9
            for timed in steps.read(Path(work.results)).timed
        }
    for what, why in measured.left_out.items():
        print(f"{candidate.name}: {what} left out: {why}", flush=True)
    return measured.ceilings, [
        Line(
            candidate.name, p.phase, p.batch, p.tokens, p.floor_s, p.measured_s,
            least[p.phase, p.batch, p.tokens], p.samples, f"{p.bound} ({p.fraction:.0%})",
        )
        for p in measured.placements
    ]  # fmt: skip


def show(lines: Sequence[Line]) -> None:
    for line in lines:
        print(
            f"{line.candidate:34} {line.phase:8} batch {line.batch:3} at {line.tokens:4}: floor "
            f"{line.floor_s * 1e3:8.2f} ms, median {line.measured_s * 1e3:8.2f}, least {line.least_s * 1e3:8.2f} "
            f"({line.samples} samples)  {line.bound}{'' if line.holds else '  BROKEN'}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
