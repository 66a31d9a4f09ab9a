"""The gates of one candidate: fidelity to the baseline, which rejects only breakage, and every gated slice together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paredown.decide import wording
from paredown.records.golden import Check, Fidelity, FidelityPart
from paredown.records.verdict import SliceVerdict, Verdict
from paredown.stats.tango import normal_quantile

FEWEST_POSITIONS = 32
"""A smaller part is shown and never judged: one odd token moves its mean."""

MUCH_WORSE = 3.0
"""Times the mean KL of the other parts of its kind. Seven healthy candidates of the built-in model, 4 to 32 bits: at
most 2.2 (a slice, a language against the others); a rotary base ten times too small at 2,048 positions: 20."""

PART_TOP1 = 0.5
"""Of the limit for all positions: on one text that is hard for the model a healthy 4-bit candidate has the same first
choice at 34 % of positions (Chinese, GPTQ calibrated on Python source), a broken one at 5 to 11 %."""

NOTICEABLE_KL = 0.05
"""Nats. Below it a part is as good as 8 bits are (0.03 and less), however much worse than the others it is."""

CONFIDENCE = 0.95
MOST_NAMED = 3


@dataclass(frozen=True)
class Outcome:
    """The verdict on quality, and why: what decided first, then watched slices that became worse."""

    verdict: Verdict
    reasons: tuple[str, ...]


def combine(slices: Sequence[SliceVerdict]) -> Outcome:
    """SHIP when every gate ships (intersection-union, so without correction); REJECT when any is rejected.

    Rejections were corrected over the slices when they were judged. Watched slices never decide; those that
    regressed, and gates on which the baseline is at chance, are named.
    """
    gates = [row for row in slices if row.gated]
    rejected = [row for row in gates if row.verdict is Verdict.REJECT]
    open_yet = [row for row in gates if row.verdict is Verdict.INVESTIGATE]
    if rejected:
        verdict, telling = Verdict.REJECT, rejected
    elif open_yet or not gates:
        verdict, telling = Verdict.INVESTIGATE, open_yet
    else:
        verdict, telling = Verdict.SHIP, gates
    reasons = [f"{title(row.slice)}: {row.reason}" for row in telling]
    worse = [row for row in slices if row.regressed and not row.gated]
    reasons += [
        f"{title(row.slice)} (watched) became worse: {row.counts.lost} lost, {row.counts.gained} gained "
        f"of {row.counts.n}."
        for row in worse
    ]
    return Outcome(verdict, tuple(reasons) or ("No gate was judged.",))


def title(slice_name: str) -> str:
    """A slice as the start of a sentence."""
    return "All prompts" if slice_name == "all" else slice_name[:1].upper() + slice_name[1:]


# ── fidelity ─────────────────────────────────────────────────────────────────────────────────────────────────────


def fidelity(found: Fidelity, max_mean_kl: float, min_top1: float) -> Check:
    """Fails when the mean KL (nats) is above, or the top-1 agreement below, its limit: overall, or in one part.

    A part (slice, language, stretch of positions) fails when its mean KL is above the limit, and either its standard
    error does not explain that (95 % over all parts together) or it is much worse than the other parts of its kind;
    or when its agreement is below half of its limit, beyond its standard error. A part that is much worse than the
    others and within the limits is named in the detail, and warns.
    """
    if found.mean_kl is None and found.top1_agreement is None:
        return Check("fidelity", None, f"Not measured: {found.missing or 'no reason was given'}.")
    worse = much_worse_parts(found)
    named = "; ".join(f"{place(one.part)} {_worse(one)}" for one in worse[:MOST_NAMED])
    where = f" Much worse {named}." if named else ""
    broken = list(_overall(found, max_mean_kl, min_top1))
    if broken:
        return Check("fidelity", passed=False, detail=f"Broken: {'; '.join(broken)}.{where}")
    parts = broken_parts(found, max_mean_kl, min_top1)
    if parts:
        said = "; ".join(_in_part(part, max_mean_kl, min_top1) for part in parts[:MOST_NAMED])
        return Check("fidelity", passed=False, detail=f"Broken in a part: {said}. All positions: {_known(found)}.")
    detail = f"{_known(found)} ({found.positions:,} positions).{where}"
    return Check("fidelity", passed=True, detail=detail, warns=bool(worse))


def _known(found: Fidelity) -> str:
    known = []
    if found.mean_kl is not None:
        known.append(f"mean KL {wording.digits(found.mean_kl)} nats")
    if found.top1_agreement is not None:
        known.append(f"same first choice at {wording.percent(found.top1_agreement)} of positions")
    if found.within_floor:
        known.append("no difference beyond the noise of batching")
    return "; ".join(known)


def _overall(found: Fidelity, max_mean_kl: float, min_top1: float) -> Iterator[str]:
    if found.mean_kl is not None and found.mean_kl > max_mean_kl:
        yield f"mean KL {wording.digits(found.mean_kl)} nats, at most {max_mean_kl:g} allowed"
    if found.top1_agreement is not None and found.top1_agreement < min_top1:
        same = wording.percent(found.top1_agreement)
        yield f"same first choice at only {same} of positions, at least {wording.percent(min_top1)} needed"


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def broken_parts(found: Fidelity, max_mean_kl: float, min_top1: float) -> tuple[FidelityPart, ...]:
    """Parts beyond a limit for certain, the worst first."""
    parts = _judged(found)
    z = _z(len(parts))
    worse = [one.part for one in much_worse_parts(found)]
    broken = [
        part
        for part in parts
        if _low_kl(part, z) > max_mean_kl
        or (part in worse and (part.mean_kl or 0.0) > max_mean_kl)
        or _high_top1(part, z) < PART_TOP1 * min_top1
    ]
    return tuple(sorted(_once(broken), key=lambda part: -(part.mean_kl or 0.0)))


@dataclass(frozen=True)
class WorsePart:
    """A part and the mean KL (nats) of the other parts of its kind."""

    part: FidelityPart
    elsewhere: float


def much_worse_parts(found: Fidelity) -> tuple[WorsePart, ...]:
    """Parts with more than three times the mean KL of the others of their kind, beyond their standard error.

    At 95 % for each: a warning decides nothing, and the factor is what keeps healthy candidates out.
    """
    parts = _judged(found)
    z = normal_quantile(CONFIDENCE)
    worse = []
    for part in parts:
        elsewhere = _mean_of([other for other in parts if other.kind == part.kind and other is not part])
        if elsewhere is not None and _low_kl(part, z) > max(NOTICEABLE_KL, MUCH_WORSE * elsewhere):
            worse.append(WorsePart(part, elsewhere))
    kept = _once([one.part for one in worse])
    return tuple(sorted((one for one in worse if one.part in kept), key=lambda one: -(one.part.mean_kl or 0.0)))


def _judged(found: Fidelity) -> list[FidelityPart]:
    return [part for part in found.parts if part.positions >= FEWEST_POSITIONS]


def _z(parts: int) -> float:
    return normal_quantile(1.0 - (1.0 - CONFIDENCE) / max(1, parts))


def _low_kl(part: FidelityPart, z: float) -> float:
    return -1.0 if part.mean_kl is None or part.mean_kl_se is None else part.mean_kl - z * part.mean_kl_se


def _high_top1(part: FidelityPart, z: float) -> float:
    return 2.0 if part.top1_agreement is None or part.top1_se is None else part.top1_agreement + z * part.top1_se


def _mean_of(parts: Sequence[FidelityPart]) -> float | None:
    known = [part for part in parts if part.mean_kl is not None]
    positions = sum(part.positions for part in known)
    return sum((part.mean_kl or 0.0) * part.positions for part in known) / positions if positions else None


def _once(parts: Sequence[FidelityPart]) -> list[FidelityPart]:
    """Of parts that hold the same positions (a window, its stretch) the last one, which names the positions."""
    return list({(part.positions, part.mean_kl, part.top1_agreement): part for part in parts}.values())


def place(part: FidelityPart) -> str:
    """`at positions 1,024–2,047`, `in plain/russian`."""
    return f"at positions {part.name}" if part.kind == "positions" else f"in {part.name}"


def _in_part(part: FidelityPart, max_mean_kl: float, min_top1: float) -> str:
    said = []
    if part.mean_kl is not None and part.mean_kl > max_mean_kl:
        said.append(f"mean KL {wording.digits(part.mean_kl)} nats, at most {max_mean_kl:g} allowed")
    if part.top1_agreement is not None and part.top1_agreement < PART_TOP1 * min_top1:
        said.append(f"same first choice at only {wording.percent(part.top1_agreement)} of {part.positions} positions")
    return f"{place(part)} {', '.join(said)}"


def _worse(one: WorsePart) -> str:
    return f"(mean KL {wording.digits(one.part.mean_kl or 0.0)} nats, {wording.digits(one.elsewhere)} elsewhere)"
