"""The decision as a paragraph that a manager can read: plain words, figures with units, and what was not proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paredown.decide import reasons, wording
from paredown.decide.phrases import attribution, cautions, figure_phrase, headline_figures, misses_phrase
from paredown.decide.slices import ZERO_TOLERANCE
from paredown.records.figure import Figure
from paredown.records.verdict import CandidateVerdict, Decision, SliceVerdict, Verdict
from paredown.spec.targets import POOLED


@dataclass(frozen=True)
class Place:
    """Where a candidate's artifact is, and the command that serves it."""

    artifact: str
    serve_command: str


@dataclass(frozen=True)
class About:
    """What the paragraph must know beside the verdicts.

    machine:        in words, for example `AMD EPYC 9R14, 2 cores`
    traffic:        name of the profile on which targets are judged
    golden_builtin: only the built-in prompts were used, which say little about the user's own task
    targets_assumed: the targets are the default ones
    caution:        what is special about the source model (empty: nothing)
    wide:           for each candidate the same engine's lossless one, to tell the engine's part from that of the bits
    stopped:        why the search ended early (empty: it did not), as a clause: `the time budget of 10 min ran out`
    """

    model: str
    machine: str
    traffic: str
    golden_builtin: bool = False
    targets_assumed: bool = False
    caution: str = ""
    stopped: str = ""
    wide: Mapping[str, str] = field(default_factory=dict)
    primary: str = "decode_speed"


def write(decision: Decision, baseline: Sequence[Figure], about: About) -> str:
    """One paragraph, ending with the artifact and the serve command. The caller appends the record's digest."""
    found = next((v for v in decision.candidates if v.candidate == decision.closest), None)
    sentences = [_headline(decision, found, about)]
    if found is not None:
        wide = next((v for v in decision.candidates if v.candidate == about.wide.get(found.candidate)), None)
        sentences += [_speed(found, baseline, about), attribution(found, wide, baseline, about.primary)]
        sentences.append(_quality(found))
        sentences += _targets(decision, found, about)
    sentences += _not_proven(found, about)
    sentences += _search(decision, about)
    sentences += _next(decision, found)
    return " ".join(sentence for sentence in sentences if sentence)


def _headline(decision: Decision, found: CandidateVerdict | None, about: About) -> str:
    if found is None:
        return f"Keep {about.model} as it is: no candidate could be measured.{_failures(decision)}"
    name = found.candidate
    if decision.recommended and decision.exit_status == 0:
        return f"Ship {name} in place of {about.model}."
    if decision.recommended and decision.exit_status == 4:
        return f"{name} is good enough to replace {about.model}, but not every target could be measured."
    if decision.recommended:
        return f"{name} is good enough to replace {about.model}, but not every target is met."
    if decision.verdict is Verdict.REJECT:
        return f"Keep {about.model} as it is: nothing that was tried is good enough. {name} came closest."
    if decision.exit_status == 3:
        return f"Keep {about.model} for now: nothing that was tried meets every target. {name} came closest."
    return f"Do not ship yet: {name} comes closest, but there is too little evidence that it is good enough."


def _failures(decision: Decision, most: int = 3) -> str:
    """Where the first candidates stopped, and why."""
    told = []
    for verdict in decision.candidates[:most]:
        why = verdict.error or " ".join(verdict.reasons) or "no reason was recorded"
        told.append(f" {verdict.candidate} stopped at the gate {verdict.stage!r}: {why.rstrip('.')}.")
    return "".join(told)


def _speed(found: CandidateVerdict, baseline: Sequence[Figure], about: About) -> str:
    phrases = [figure_phrase(pair) for pair in headline_figures(found, baseline)]
    if not phrases:
        return f"It was not measured under load, because it stopped at the gate {found.stage!r}."
    return f"On {about.machine}, under the traffic {about.traffic!r}: {'; '.join(phrases)}."


def _quality(found: CandidateVerdict) -> str:
    gates = [row for row in found.slices if row.gated and row.slice != ZERO_TOLERANCE]
    strict = [row for row in found.slices if row.slice == ZERO_TOLERANCE]
    if not gates and not strict:
        return "; ".join(found.reasons) if found.reasons else "Its answers were not judged."
    where = "held-back golden" if found.stage == "confirmation" else "golden"
    sentences = [_gate(row, where) for row in gates]
    sentences += [row.reason for row in strict]
    return " ".join(sentences)


def _gate(row: SliceVerdict, where: str) -> str:
    """What was seen on one gate, and what that shows."""
    counts = row.counts
    what = f"{where} prompts" if row.slice == POOLED else f"{where} prompts of {row.slice!r}"
    if row.drop is None or row.low is None or row.high is None:
        return f"On the {what}: {row.reason}"
    changed = (
        f"it lost {counts.lost} answers and gained {counts.gained}"
        if counts.lost + counts.gained
        else ("not one answer changed from right to wrong or back")
    )
    seen = f"On {counts.n:,} {what} {changed}"
    if row.verdict is Verdict.SHIP:
        worse = reasons.beside(row.high, row.margin)
        shown = f"so it is at most {worse} points worse (confidence {wording.percent(row.level)})"
        return f"{seen}, {shown}; {reasons.points(row.margin)} were allowed."
    if row.verdict is Verdict.REJECT:
        worse = reasons.beside(row.low, row.margin)
        shown = f"so it is at least {worse} points worse (confidence {wording.percent(row.level)})"
        return f"{seen}, {shown}; only {reasons.points(row.margin)} were allowed."
    low, high = reasons.beside(row.low, row.margin), reasons.beside(row.high, row.margin)
    return (
        f"{seen}: anything between {low} and {high} points worse is possible, {reasons.points(row.margin)} are allowed."
    )


def _targets(decision: Decision, found: CandidateVerdict, about: About) -> list[str]:
    sentences = []
    if decision.exit_status == 0:
        sentences.append("Every target is met." if len(found.targets) != 1 else "The target is met.")
    else:
        sentences.append(misses_phrase(found))
    if about.targets_assumed:
        asked = ", ".join(result.target.text for result in found.targets)
        sentences.append(f"No target was named, so these were assumed: {asked}.")
    return sentences


def _not_proven(found: CandidateVerdict | None, about: About) -> list[str]:
    """What a reader might take for shown and is not."""
    sentences = []
    if found is not None:
        worse = [
            f"{row.slice} ({row.counts.lost} lost, {row.counts.gained} gained)"
            for row in _watched(found, regressed=True)
        ]
        if worse:
            sentences.append(f"Watched slices that became worse: {', '.join(worse)}.")
        quiet = _watched(found, regressed=False)
        unproven = [row.slice for row in quiet if row.verdict is not Verdict.SHIP]
        if unproven and found.verdict is Verdict.SHIP:
            whose = "has too few prompts of its" if len(unproven) == 1 else "have too few prompts of their"
            sentences.append(f"Not proven slice by slice: {reasons.listed(unproven)} {whose} own for that.")
        sentences += cautions(found)
    if about.golden_builtin:
        sentences.append(
            "Only the built-in prompts were used, which say little about your own task: add yours with --golden."
        )
    if about.caution:
        sentences.append(about.caution if about.caution.endswith(".") else f"{about.caution}.")
    return sentences


def _watched(found: CandidateVerdict, *, regressed: bool) -> list[SliceVerdict]:
    return [row for row in found.slices if not row.gated and row.regressed is regressed]


def _search(decision: Decision, about: About) -> list[str]:
    """How much was tried, so that a reader knows what the choice was made from."""
    tried, left = len(decision.candidates), len(decision.left_out)
    sentence = f"{'One candidate was' if tried == 1 else f'{tried} candidates were'} tried"
    if left:
        sentence += f" and {left} left out, each with its reason in the report"
    sentence += f"; the search stopped early because {about.stopped}." if about.stopped else "."
    return [sentence]


def _next(decision: Decision, found: CandidateVerdict | None) -> list[str]:
    """What to type next."""
    sentences = []
    if found is not None and decision.exit_status == 4:
        sentences.append(_evidence(found))
    place = [f"Artifact: {decision.artifact}"] if decision.artifact else []
    if decision.serve_command:
        verb = "Serve it with" if decision.recommended else "Look at it yourself with"
        place.append(f"{verb}: {decision.serve_command}")
    return [*sentences, " · ".join(place)]


def _evidence(found: CandidateVerdict) -> str:
    """What evidence is missing, and how to bring it."""
    needed = [row.more_prompts for row in found.slices if row.gated and row.more_prompts]
    if found.stage != "confirmation":
        return "It was not confirmed on the held-back prompts: run the same command again to go on."
    if needed:
        more = reasons.rounded(max(needed))
        return f"About {more} more prompts would decide: run the same command again with --golden more.jsonl added."
    if any(row.gated and row.verdict is Verdict.INVESTIGATE for row in found.slices):
        return "More prompts alone may not decide: see the reasons, gate by gate, in the report."
    return "Run the same command again, on a quiet machine, to measure what is missing."
