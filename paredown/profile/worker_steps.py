"""Times prefill and decode steps of an engine that our host serves, in a process of its own and without HTTP.

At import the standard library, contracts, records and registry only: it runs in the engine's own environment. What it
measured is in a file, one JSON object a line, so that nothing is lost when a larger batch kills the process.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown import registry
from paredown.contracts import GenerationSession, OpenContext, OpenedEngine
from paredown.environments import child
from paredown.profile import driving, marks
from paredown.profile.driving import DoesNotBatch, Effort, NotTimed, Prompts, Timed
from paredown.records.codec import from_plain, to_plain
from paredown.records.figure import Options


@dataclass(frozen=True)
class StepsWork:
    """What the worker is to do.

    results: the file to which each finding is appended as `{"timed": …}` or `{"not_timed": …}`
    batches: ascending; each is decoded at the shortest prompt
    """

    engine: str
    artifacts: Mapping[str, str]
    options: Options
    device: str
    vocabulary: int
    context_length: int
    batches: tuple[int, ...]
    prompt_tokens: tuple[int, ...]
    results: str
    effort: Effort
    seed: int = 0


def act(work: Mapping[str, Any], report: child.Report) -> Mapping[str, Any]:
    """Measure what `work` (a plain StepsWork) asks for; findings are in its file."""
    asked = from_plain(StepsWork, work)
    opened = open_engine(asked.engine, asked.artifacts, asked.options, asked.device)
    try:
        with Path(asked.results).open("a", encoding="utf-8", buffering=1) as file:
            _measure(asked, opened, report, file.write)
    finally:
        opened.close()
    return {}


def open_engine(name: str, artifacts: Mapping[str, str], options: Options, device: str) -> OpenedEngine:
    """The engine of that name, as the host opens it."""
    engine = registry.engine(name)
    assert engine.open is not None, f"{name} is not served by a host"
    return engine.open(OpenContext({role: Path(path) for role, path in artifacts.items()}, options, device))


@dataclass(frozen=True)
class _Job:
    """One thing to measure. positions: context that it needs; cost: of all, in about equal units of time."""

    what: str
    positions: int
    cost: int
    measure: Callable[[GenerationSession], Sequence[Timed]]


def _jobs(asked: StepsWork) -> tuple[Sequence[_Job], Sequence[_Job]]:
    """The prompts that are prefilled alone, and the batches."""
    prompts = Prompts(asked.vocabulary, asked.seed)
    around, effort, shortest = marks.nvtx(asked.device), asked.effort, min(asked.prompt_tokens)

    def alone(tokens: int) -> Callable[[GenerationSession], Sequence[Timed]]:
        return lambda session: (
            driving.time_prefill(session, prompts, tokens, effort.prefill_rounds, around=around),
        )  # fmt: skip

    def together(batch: int) -> Callable[[GenerationSession], Sequence[Timed]]:
        # The prefill of one prompt is measured by itself, and longer.
        first = 1 if batch == 1 else 0
        return lambda session: driving.time_batch(session, prompts, shortest, batch, effort, around=around)[first:]

    prefills = [_Job(f"prefill of {tokens} tokens", tokens + 1, 1, alone(tokens)) for tokens in asked.prompt_tokens]
    batches = [
        _Job(f"batch {batch}", shortest + driving.room_for(shortest, batch, effort), batch, together(batch))
        for batch in asked.batches
    ]
    return prefills, batches


def _measure(asked: StepsWork, opened: OpenedEngine, report: child.Report, write: Callable[[str], object]) -> None:
    prefills, batches = _jobs(asked)
    done, whole = 0, sum(job.cost for job in (*prefills, *batches))
    failed = ""
    for job in (*prefills, *batches):
        report(done / whole, job.what)
        done += job.cost
        found: Sequence[Timed | NotTimed]
        if job.positions > asked.context_length > 0:
            reason = f"it needs {job.positions} positions, and the model's context has {asked.context_length}"
            found = (NotTimed(job.what, reason),)
        elif failed and job in batches:
            found = (NotTimed(job.what, f"not tried, because {failed}"),)
        else:
            found = _tried(job, opened)
            if job in batches and isinstance(found[0], NotTimed):
                failed = f"{job.what} failed: {found[0].reason}"
        for finding in found:
            kind = "timed" if isinstance(finding, Timed) else "not_timed"
            write(json.dumps({kind: to_plain(finding)}) + "\n")


def _tried(job: _Job, opened: OpenedEngine) -> Sequence[Timed | NotTimed]:
    """What was measured in a session of its own, or why not: one batch that fails leaves the others."""
    session = opened.generation()
    try:
        return job.measure(session)
    except DoesNotBatch as reason:
        return (NotTimed(job.what, str(reason)),)
    except Exception as error:  # noqa: BLE001 - the process edge of one job; the whole is in the worker's log
        traceback.print_exc()
        first = (str(error).strip().splitlines() or [""])[0]
        return (NotTimed(job.what, f"{type(error).__name__}: {first}"),)
    finally:
        session.close()


if __name__ == "__main__":
    sys.exit(child.run(act))
