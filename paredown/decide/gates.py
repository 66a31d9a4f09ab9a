"""The gates of one candidate together: fidelity to the baseline, then every gated slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.decide import wording
from paredown.records.golden import Check, Fidelity
from paredown.records.verdict import SliceVerdict, Verdict


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


def fidelity(found: Fidelity, max_mean_kl: float, min_top1: float) -> Check:
    """Rejects only breakage: mean KL (nats) above, or top-1 agreement below, the limits of the spec."""
    if found.mean_kl is None and found.top1_agreement is None:
        return Check("fidelity", None, f"Not measured: {found.missing or 'no reason was given'}.")
    known, broken = [], []
    if found.mean_kl is not None:
        known.append(f"mean KL {wording.digits(found.mean_kl)} nats")
        if found.mean_kl > max_mean_kl:
            broken.append(f"mean KL {wording.digits(found.mean_kl)} nats, at most {max_mean_kl:g} allowed")
    if found.top1_agreement is not None:
        same = wording.percent(found.top1_agreement)
        known.append(f"same first choice at {same} of positions")
        if found.top1_agreement < min_top1:
            broken.append(f"same first choice at only {same} of positions, at least {wording.percent(min_top1)} needed")
    if broken:
        return Check("fidelity", passed=False, detail=f"Broken: {'; '.join(broken)}.")
    return Check("fidelity", passed=True, detail=f"{'; '.join(known)} ({found.positions:,} positions).")


def title(slice_name: str) -> str:
    """A slice as the start of a sentence."""
    return "All prompts" if slice_name == "all" else slice_name[:1].upper() + slice_name[1:]
