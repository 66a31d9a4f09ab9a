"""The decision of a run: which candidate, if any, and the exit status that says how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paredown.decide import choose, paragraph
from paredown.decide.paragraph import About, Place
from paredown.records.candidate import LeftOut
from paredown.records.figure import Figure
from paredown.records.verdict import CandidateVerdict, Decision, Verdict

SHIPS, MISSES, OPEN = 0, 3, 4


@dataclass(frozen=True)
class _Choice:
    verdict: Verdict
    exit_status: int
    candidate: CandidateVerdict | None
    recommended: bool


def make(
    verdicts: Sequence[CandidateVerdict],
    baseline: Sequence[Figure],
    left_out: Sequence[LeftOut],
    about: About,
    places: Mapping[str, Place],
    primary: str = choose.PRIMARY_METRIC,
) -> Decision:
    """The decision over all candidates tried, in ladder order.

    places: artifact and serve command by candidate, for those that have them
    A candidate is recommended only when the confirmation shipped it. Exit status 0: and every target is met; 3: some
    target is missed, or every candidate was rejected; 4: what is missing is evidence, prompts or trials.
    """
    choice = _choose(verdicts, primary)
    found = choice.candidate
    place = places.get(found.candidate) if found is not None else None
    decision = Decision(
        recommended=found.candidate if found is not None and choice.recommended else None,
        verdict=choice.verdict,
        exit_status=choice.exit_status,
        paragraph="",
        candidates=tuple(verdicts),
        left_out=tuple(left_out),
        artifact=place.artifact if place else "",
        serve_command=place.serve_command if place else "",
        closest=found.candidate if found is not None else "",
    )
    return replace(decision, paragraph=paragraph.write(decision, baseline, about))


def meets_every_target(verdict: CandidateVerdict) -> bool:
    return all(result.met is True for result in verdict.targets)


def _choose(verdicts: Sequence[CandidateVerdict], primary: str) -> _Choice:
    shipped = [v for v in verdicts if v.verdict is Verdict.SHIP and v.stage == "confirmation" and not v.error]
    if shipped:
        # Ladder order is kept among those that meet everything: the sort is stable, and speed does not buy a rung.
        best = min(shipped, key=lambda v: (-choose.met(v), 0.0 if meets_every_target(v) else -choose.speed(v, primary)))
        if meets_every_target(best):
            return _Choice(Verdict.SHIP, SHIPS, best, recommended=True)
        missed = any(result.met is False for result in best.targets)
        return _Choice(Verdict.SHIP, MISSES if missed else OPEN, best, recommended=True)
    open_yet = [v for v in verdicts if v.verdict is not Verdict.REJECT and not v.error]
    hopeful = [v for v in open_yet if not any(result.met is False for result in v.targets)]
    if hopeful:
        return _Choice(Verdict.INVESTIGATE, OPEN, _latest(hopeful, primary), recommended=False)
    verdict = Verdict.INVESTIGATE if open_yet else Verdict.REJECT
    return _Choice(verdict, MISSES, choose.closest(verdicts, primary), recommended=False)


def _latest(candidates: Sequence[CandidateVerdict], primary: str) -> CandidateVerdict:
    """The one that went furthest (a confirmation before a screening), then the one with most targets met."""
    return min(candidates, key=lambda v: (v.stage != "confirmation", -choose.met(v), -choose.speed(v, primary)))
