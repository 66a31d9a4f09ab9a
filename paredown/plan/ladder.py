"""Candidates in ladder order from declared facts, and a reason for everything left out.

Names: a proposal keeps its name (`onnx_int8`) when one engine is made for its format and options; when several are,
each candidate is `proposal@engine`. That depends on the engines that exist, not on those installed here, so that a
name does not change with an installation. A source format that another engine opens directly gives a candidate named
after that engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from paredown.contracts import Engine, Environment, Needs, PlanFacts, Technique
from paredown.errors import UnknownNameError
from paredown.plan import feasible
from paredown.records.candidate import LeftOut, Plan, PlannedCandidate, Proposal, Rung
from paredown.registry import PlugInError

BASELINE = "baseline"

Installed = Callable[[Needs], str | None]
Makeable = Callable[[Environment], str | None]


@dataclass(frozen=True)
class Excluded:
    """What the user chose. Empty `only` = all; names may be techniques or engines."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    only_engines: tuple[str, ...] = ()
    without_engines: tuple[str, ...] = ()

    def technique(self, name: str) -> str | None:
        return _chosen(name, self.only, self.without)

    def engine(self, name: str) -> str | None:
        return _chosen(name, self.only_engines, self.without_engines)


def make(
    facts: PlanFacts,
    techniques: Sequence[Technique],
    engines: Sequence[Engine],
    installed: Installed,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    only_engines: Sequence[str] = (),
    without_engines: Sequence[str] = (),
    source_format: str = "hf",
    device: str = "cpu",
    environment: Makeable = lambda _: None,
) -> Plan:
    """The plan. Opens no file and imports nothing heavy.

    installed:   the reason why packages are missing here, with the install line; None when they are there
    environment: the reason why an isolated environment cannot be made here; None when it can or exists
    device:      `cpu` or `cuda`, the one that candidates run on
    Raises UnknownNameError when `only` or `without` name what does not exist, PlugInError when two plug-ins propose
    the same candidate.
    """
    choice = Excluded(tuple(only), tuple(without), tuple(only_engines), tuple(without_engines))
    _check_names(choice, techniques, engines)
    host = feasible.Host(facts, device, installed, environment)
    usable = {engine.name: _engine_reason(engine, choice, host) for engine in engines}
    found: list[Proposal] = []
    left: list[LeftOut] = []
    for technique in sorted(techniques, key=lambda t: (t.rung, t.name)):
        reason = (
            choice.technique(technique.name)
            or _not_consumed(technique, facts, source_format)
            or feasible.technique(technique, host)
        )
        if reason is not None:
            left.append(LeftOut(technique.name, technique.rung, reason))
            continue
        for offer in technique.propose(facts):
            if isinstance(offer, LeftOut):
                left.append(offer)
            else:
                found.append(offer)
    candidates, unbound = _bind(found, engines, usable)
    direct, unusable = _engine_only(engines, usable, choice, source_format)
    ordered = _ordered([*direct, *candidates])
    _refuse_duplicates(ordered)
    left_out = sorted([*left, *unusable, *unbound], key=lambda item: (item.rung, item.name))
    return Plan(_with_wide(ordered, engines, source_format), tuple(left_out))


def _engine_reason(engine: Engine, choice: Excluded, host: feasible.Host) -> str | None:
    return choice.engine(engine.name) or feasible.engine(engine, host)


def _chosen(name: str, only: Sequence[str], without: Sequence[str]) -> str | None:
    if name in without:
        return "Left out as you asked."
    if only and name not in only:
        return f"You asked for only {', '.join(only)}."
    return None


def _not_consumed(technique: Technique, facts: PlanFacts, source_format: str) -> str | None:
    given = facts.chain[-1].format if facts.chain else source_format
    if given in technique.consumes:
        return None
    return f"It starts from {' or '.join(technique.consumes)}; the model is in the format {given!r}."


def _check_names(choice: Excluded, techniques: Sequence[Technique], engines: Sequence[Engine]) -> None:
    technique_names, engine_names = [t.name for t in techniques], [e.name for e in engines]
    known = [*technique_names, *engine_names]
    for name in (*choice.only, *choice.without):
        if name not in known:
            raise UnknownNameError("technique", name, technique_names)
    for name in (*choice.only_engines, *choice.without_engines):
        if name not in engine_names:
            raise UnknownNameError("engine", name, engine_names)


def _bind(
    proposals: Sequence[Proposal], engines: Sequence[Engine], usable: dict[str, str | None]
) -> tuple[list[PlannedCandidate], list[LeftOut]]:
    """Join each proposal with every engine that opens its format and knows the options it needs."""
    candidates: list[PlannedCandidate] = []
    left: list[LeftOut] = []
    for proposal in proposals:
        fitting = [engine for engine in engines if _fits(engine, proposal)]
        if not fitting:
            left.append(LeftOut(proposal.name, proposal.rung, _no_engine(proposal)))
        for engine in fitting:
            name = proposal.name if len(fitting) == 1 else f"{proposal.name}@{engine.name}"
            reason = usable[engine.name]
            if reason is not None:
                left.append(LeftOut(name, proposal.rung, f"Its engine {engine.name} cannot be used: {reason}"))
            else:
                candidates.append(_candidate(name, proposal, engine))
    return candidates, left


def _fits(engine: Engine, proposal: Proposal) -> bool:
    known = {option.name for option in engine.options}
    return proposal.format in engine.opens and set(proposal.engine_options) <= known


def _no_engine(proposal: Proposal) -> str:
    options = ", ".join(sorted(proposal.engine_options))
    return f"No engine opens the format {proposal.format!r}" + (f" with the options {options}." if options else ".")


def _candidate(name: str, proposal: Proposal, engine: Engine) -> PlannedCandidate:
    return PlannedCandidate(
        name=name,
        rung=proposal.rung,
        engine=engine.name,
        engine_options=proposal.engine_options,
        steps=proposal.steps,
        format=proposal.format,
        reason=proposal.reason,
        prediction=proposal.prediction,
        adjustments=proposal.adjustments,
    )


def _engine_only(
    engines: Sequence[Engine], usable: dict[str, str | None], choice: Excluded, source_format: str
) -> tuple[list[PlannedCandidate], list[LeftOut]]:
    """Engines other than the baseline's that open the source as it is: lossless, without any step."""
    candidates: list[PlannedCandidate] = []
    left: list[LeftOut] = []
    for engine in engines:
        if source_format not in engine.opens or engine.baseline:
            continue
        reason = choice.technique(engine.name) or usable[engine.name]
        if reason is not None:
            left.append(LeftOut(engine.name, Rung.LOSSLESS, reason))
            continue
        why = f"{engine.name} opens the checkpoint as it is: other execution, the same weights."
        candidates.append(PlannedCandidate(engine.name, Rung.LOSSLESS, engine.name, {}, (), source_format, why))
    return candidates, left


def _ordered(candidates: Sequence[PlannedCandidate]) -> list[PlannedCandidate]:
    """Ladder order; within a rung the fastest prediction first (unknown last), then by name."""
    return sorted(candidates, key=lambda c: (c.rung, -(c.prediction.decode_speed_ratio or 0.0), c.name))


def _refuse_duplicates(candidates: Sequence[PlannedCandidate]) -> None:
    twice = [name for name, count in Counter(c.name for c in candidates).items() if count > 1]
    if twice:
        raise PlugInError(f"Two plug-ins propose a candidate named {twice[0]!r}. Rename one proposal.")


def _with_wide(
    candidates: Sequence[PlannedCandidate], engines: Sequence[Engine], source_format: str
) -> tuple[PlannedCandidate, ...]:
    """Name for each lossy candidate the same engine's lossless one: engine and bits are two variables."""
    wide = {e.name: BASELINE for e in engines if e.baseline and source_format in e.opens}
    for candidate in candidates:
        if candidate.rung is Rung.LOSSLESS and not candidate.engine_options:
            wide.setdefault(candidate.engine, candidate.name)
    return tuple(
        replace(candidate, same_engine_wide=wide.get(candidate.engine, ""))
        if candidate.rung > Rung.LOSSLESS
        else candidate
        for candidate in candidates
    )
