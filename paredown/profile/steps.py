"""Timed steps of an engine that our host serves: what its worker process measured, as steps for the roofline."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paredown.contracts import Engine
from paredown.environments import worker
from paredown.errors import EngineDied, EngineError, EngineHung, EngineOutOfMemory
from paredown.profile.driving import Effort, NotTimed, Timed
from paredown.profile.roofline import Step
from paredown.profile.worker_steps import StepsWork
from paredown.records.artifact import ModelFacts
from paredown.records.candidate import Candidate
from paredown.records.codec import from_plain, to_plain

OnProgress = Callable[[float, str], None]

MODULE = "paredown.profile.worker_steps"
RESULTS = "steps.jsonl"
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Found:
    """Every phase that was measured, and what was not, with the reason."""

    timed: tuple[Timed, ...]
    left_out: Mapping[str, str]


def work_of(
    engine: Engine,
    candidate: Candidate,
    facts: ModelFacts,
    *,
    device: str,
    batches: Sequence[int],
    prompt_tokens: Sequence[int],
    results: Path,
    effort: Effort,
) -> StepsWork:
    """The plain description of the work. Raises EngineError when the vocabulary is not known."""
    if facts.vocabulary < 1:
        raise EngineError(
            f"{facts.path / 'config.json'} does not say vocab_size, so that no valid prompt can be made up."
        )
    return StepsWork(
        engine=engine.name,
        artifacts={role: str(artifact.path.resolve()) for role, artifact in candidate.artifacts.items()},
        options=candidate.engine_options,
        device=device,
        vocabulary=facts.vocabulary,
        context_length=facts.context_length,
        batches=tuple(sorted(batches)),
        prompt_tokens=tuple(sorted(prompt_tokens)),
        results=str(results.resolve()),
        effort=effort,
    )


def measure(work: StepsWork, engine: Engine, directory: Path, *, python: Path, on_progress: OnProgress) -> Found:
    """Run the worker.

    directory: for its log and results
    Raises EngineOutOfMemory, EngineHung, EngineDied or EngineError when it measured nothing; what it had measured
    before it failed is kept, with the reason for the rest.
    """
    possible = [batch for batch in work.batches if batch <= engine.max_batch]
    left_out = {
        f"batch {batch}": f"{engine.name} computes {at_most(engine.max_batch)}"
        for batch in work.batches
        if batch not in possible
    }
    results = Path(work.results)
    results.unlink(missing_ok=True)
    plain = to_plain(replace(work, batches=tuple(possible)))
    try:
        worker.run(MODULE, plain, directory, on_progress=on_progress, python=python, timeout_s=TIMEOUT_S)
    except worker.WorkerFailed as failure:
        found = read(results)
        if not found.timed:
            raise _error_of(failure, engine.name) from failure
        left_out |= {"further steps": f"the engine's process {_said(failure)}"}
    else:
        found = read(results)
    return Found(found.timed, {**found.left_out, **left_out})


def at_most(batch: int) -> str:
    """`one request at a time`, `at most 16 requests together`."""
    return "one request at a time" if batch == 1 else f"at most {batch} requests together"


def read(results: Path) -> Found:
    """Findings of the worker's file; a last line that was cut off by a kill is dropped."""
    timed, left_out = [], {}
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else ():
        try:
            finding = json.loads(line)
        except ValueError:
            left_out["further steps"] = "the engine's process ended while it wrote what it had measured"
            break
        if "timed" in finding:
            timed.append(from_plain(Timed, finding["timed"]))
        else:
            missed = from_plain(NotTimed, finding["not_timed"])
            left_out[missed.what] = missed.reason
    return Found(tuple(timed), left_out)


def step_of(timed: Timed) -> Step:
    """The median with its quartiles, in seconds."""
    seconds = [time_ns / 1e9 for time_ns in timed.times_ns]
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    return Step(timed.phase, timed.tokens, timed.batch, middle, len(seconds), low, high)


def _error_of(failure: worker.WorkerFailed, engine: str) -> EngineError:
    kinds = {"memory": EngineOutOfMemory, "timeout": EngineHung, "killed": EngineDied}
    sentence = f"{engine} could not be profiled: its process {_said(failure)}."
    return kinds.get(failure.kind, EngineError)(sentence, failure.detail)


def _said(failure: worker.WorkerFailed) -> str:
    """WorkerFailed's own words go after a subject, except those of an exception."""
    message = failure.message.rstrip(".")
    return message if message.startswith(("was ", "ended ")) else f"reported: {message}"
