"""`paredown profile`: roofline, operators, traces and the bottleneck of one candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paredown.contracts import Engine, ServedBy
from paredown.profile import ceilings as measuring
from paredown.profile import diagnosis, nsight, operators, roofline, steps
from paredown.profile.as_served import as_served
from paredown.profile.driving import Effort, Timed
from paredown.profile.worker_operators import OperatorsWork
from paredown.profile.worker_steps import StepsWork
from paredown.records.artifact import ModelFacts
from paredown.records.bottleneck import Placement
from paredown.records.candidate import Candidate
from paredown.records.events import Trial
from paredown.records.machine import Ceilings
from paredown.records.measurement import OperatorTable, Profile

OnProgress = Callable[[float, str], None]

STEPS_UNTIL, CEILINGS_UNTIL, OPERATORS_UNTIL = 0.6, 0.75, 0.95
PROFILED_STEPS = 4
NSIGHT_EFFORT = Effort(prefill_rounds=1, batch_rounds=1, steps=4, warm_up_steps=2)
FULL_EFFORT = Effort()


@dataclass(frozen=True)
class Measured:
    """Placements of one candidate by the better of the ceilings before and after, and what was not measured."""

    placements: tuple[Placement, ...]
    left_out: Mapping[str, str]
    ceilings: Ceilings


def profile(
    engine: Engine,
    candidate: Candidate,
    facts: ModelFacts,
    ceilings: Ceilings,
    *,
    python: Path,
    device: str,
    out: Path,
    batches: Sequence[int] = (1, 2, 4, 8, 16),
    prompt_tokens: Sequence[int] = (128, 512),
    on_progress: OnProgress,
    effort: Effort = FULL_EFFORT,
    trials: Sequence[Trial] = (),
) -> Profile:
    """About a minute for a small model. `out` gets the traces and the workers' logs; made when missing.

    python:   of the engine's environment
    ceilings: of this machine, measured before; they are measured again after the steps, and the better figure counts
    trials:   at several concurrencies, for an engine that our host does not serve (`profile_of_trials`)
    Raises EngineError when the engine could not be opened or no step could be measured.
    """
    if engine.served_by is not ServedBy.HOST:
        return profile_of_trials(engine, candidate, facts, ceilings, trials)
    logs = out / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    work = steps.work_of(
        engine, candidate, facts, device=device, batches=batches, prompt_tokens=prompt_tokens,
        results=logs / steps.RESULTS, effort=effort,
    )  # fmt: skip
    measured = place_steps(
        engine, candidate, facts, ceilings, work, directory=logs, python=python,
        on_progress=_part(on_progress, 0.0, CEILINGS_UNTIL),
    )  # fmt: skip
    inside = _part(on_progress, CEILINGS_UNTIL, OPERATORS_UNTIL)
    looked = operators.look(_operators_work(work, out), engine, logs, python=python, on_progress=inside)
    on_progress(OPERATORS_UNTIL, "NVIDIA's profilers")
    smaller = replace(work, batches=(1,), prompt_tokens=work.prompt_tokens[:1], effort=NSIGHT_EFFORT)
    watched = nsight.look(smaller, logs, out, python=python)
    on_progress(1.0, "profiled")
    left_out = {**measured.left_out, **looked.left_out, **watched.left_out}
    found = _concluded(measured.placements, (*looked.tables, *watched.tables), facts, measured.ceilings, left_out)
    return replace(found, traces=(*looked.traces, *watched.traces))


def profile_of_trials(
    engine: Engine, candidate: Candidate, facts: ModelFacts, ceilings: Ceilings, trials: Sequence[Trial]
) -> Profile:
    """From trials at several concurrencies: for an engine that brings its own server, whose steps nobody else sees.

    Prefill is seen only where one request runs by itself.
    """
    served = as_served(candidate, facts, ceilings)
    placed = roofline.placements(
        candidate.name, facts, served.artifact, ceilings, trials,
        compute_dtype=served.compute_dtype, kv_bytes_per_token=served.kv_bytes_per_token,
    )  # fmt: skip
    whose = "its own server" if engine.served_by is ServedBy.OWN else "somebody else's server"
    why = f"{engine.name} runs in {whose}, into which paredown cannot look"
    left_out = dict.fromkeys(("operators", "nsys", "ncu"), why)
    left_out |= {f"trial {t.traffic}": f"it is void: {t.void}" for t in trials if t.void}
    if not any(p.phase == "prefill" for p in placed):
        left_out["prefill"] = "no trial had one request at a time: a first token waits for other requests otherwise"
    if not any(p.phase == "decode" for p in placed):
        left_out["decode"] = "no trial had answers of more than one token that could be placed"
    return _concluded(placed, (), facts, ceilings, left_out)


def place_steps(
    engine: Engine,
    candidate: Candidate,
    facts: ModelFacts,
    ceilings: Ceilings,
    work: StepsWork,
    *,
    directory: Path,
    python: Path,
    on_progress: OnProgress,
) -> Measured:
    """Time the steps, measure the ceilings again, and place every step. Raises EngineError."""
    until = STEPS_UNTIL / CEILINGS_UNTIL
    found = steps.measure(work, engine, directory, python=python, on_progress=_part(on_progress, 0.0, until))
    on_progress(until, "ceilings of this machine")
    on_host = work.device == "cpu"
    again = measuring.measure() if on_host else measuring.measure_device(work.device, python=python)
    # What is known of the host's memory says nothing of a device's.
    best = measuring.best_of(ceilings, again) if on_host else again
    placed, left_out = [], dict(found.left_out)
    for timed in found.timed:
        placement = _placed(timed, candidate, facts, best)
        if placement is None:
            left_out[f"{timed.phase} at batch {timed.batch}"] = f"its ceiling was not measured: {_missing(best)}"
        else:
            placed.append(placement)
    return Measured(tuple(placed), left_out, best)


def _placed(timed: Timed, candidate: Candidate, facts: ModelFacts, ceilings: Ceilings) -> Placement | None:
    served = as_served(candidate, facts, ceilings)
    predicted = facts.kv_bytes_per_token if served.kv_bytes_per_token is None else served.kv_bytes_per_token
    kv = served.kv_bytes_per_token
    if timed.kv_bytes_per_token is not None:
        # The engine's own count has padding and reserves in it, which need not be read.
        kv = min(predicted, round(timed.kv_bytes_per_token)) if not facts.kv_unknown else None
    return roofline.place(
        candidate.name, facts, served.artifact, ceilings, steps.step_of(timed),
        compute_dtype=served.compute_dtype, kv_bytes_per_token=kv,
    )  # fmt: skip


def _operators_work(work: StepsWork, out: Path) -> OperatorsWork:
    return OperatorsWork(
        engine=work.engine,
        artifacts=work.artifacts,
        options=work.options,
        device=work.device,
        vocabulary=work.vocabulary,
        prompt_tokens=min(work.prompt_tokens),
        steps=PROFILED_STEPS,
        traces=str(out.resolve()),
    )


def _concluded(
    placements: Sequence[Placement],
    tables: Sequence[OperatorTable],
    facts: ModelFacts,
    ceilings: Ceilings,
    left_out: Mapping[str, str],
) -> Profile:
    found = diagnosis.bottleneck(placements, tables, facts, ceilings)
    return Profile(tuple(placements), tuple(tables), (), dict(left_out), found.sentence, found.rung)


def _part(on_progress: OnProgress, begin: float, end: float) -> OnProgress:
    return lambda fraction, what: on_progress(begin + (end - begin) * fraction, what)


def _missing(ceilings: Ceilings) -> str:
    return "; ".join(f"{what}: {why}" for what, why in ceilings.missing.items()) or "no reason is known"
