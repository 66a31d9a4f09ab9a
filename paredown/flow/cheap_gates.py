"""The two cheap gates of a candidate: smoke, then fidelity unless smoke has failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from paredown import registry
from paredown.evaluate import fidelity, smoke, smoke_declared
from paredown.evaluate.smoke import Reference
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Stage
from paredown.records.candidate import Candidate
from paredown.records.golden import Check, Fidelity, FidelityFloor, FidelityText, Smoke


@dataclass(frozen=True)
class BaselineSide:
    """What both gates compare with."""

    reference: Reference
    texts: tuple[FidelityText, ...]
    floor: FidelityFloor | None


class Passed(NamedTuple):
    """What the gates found; no fidelity where smoke has failed."""

    smoke: Smoke
    fidelity: Fidelity | None


def ask(
    context: RunContext,
    prepared: Prepared,
    base: BaselineSide,
    candidate: Candidate,
    changed: Check,
    stage: Stage,
    on_smoke: Callable[[Smoke], None] = lambda _: None,
) -> Passed:
    """Start the candidate twice, so that reloading is seen to change nothing, and compare it with the baseline.

    changed:  whether something was really changed, from the artifacts' own files
    on_smoke: called before fidelity is measured, so that the caller can keep what was found
    """
    declared = smoke_declared.check(prepared.artifact.path, candidate.main.path)
    start = context.starter(candidate)
    stage.update(0.0, "smoke: first answers")
    with start() as running:
        first = smoke.answer(running, smoke.limits(base.reference))
    with start() as running:
        stage.update(0.25, "smoke: again after a reload")
        smoked = smoke.check(
            running, base.reference, candidate=candidate.name, changed=changed, reloaded=first, declared=declared
        )
        on_smoke(smoked)
        if not smoked.passed:
            return Passed(smoked, None)
        stage.update(0.5, "fidelity to the baseline's own text")
        level = registry.engine(candidate.engine).scoring
        compared = fidelity.compare(running, base.texts, candidate=candidate.name, level=level, floor=base.floor)
    return Passed(smoked, compared)
