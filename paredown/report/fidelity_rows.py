"""Fidelity as it is shown: figures with what they rest on, and the same by slice, by kind of text, by position."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.decide import gates
from paredown.records.golden import Fidelity, FidelityPart
from paredown.report import units

KINDS = {"slice": "Slice", "text": "Kind of text", "positions": "Position"}


@dataclass(frozen=True)
class FidelityRow:
    """One figure: its name, its value, and what it rests on."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class PartRow:
    """Fidelity on some of the positions; `kl` for sorting."""

    kind: str
    name: str
    positions: str
    kl: float | None
    kl_text: str
    top1: str
    perplexity: str


def figures(fidelity: Fidelity) -> tuple[FidelityRow, ...]:
    """Every figure that was measured."""
    bound = f", lower bound from the baseline's top {fidelity.top_k}" if fidelity.top_k else ""
    rows = [
        _row("KL(baseline ‖ candidate), mean", _nats(fidelity.mean_kl), f"{fidelity.positions:,} positions{bound}"),
        _row("KL(candidate ‖ baseline), mean", _nats(fidelity.mean_reverse_kl), "what it likes and the baseline not"),
        _row("KL at its worst", _worst_kl(fidelity), "99 %, 99.9 % of positions stay below; the largest"),
        _row("Same first choice", _percent(fidelity.top1_agreement), ""),
        _row(
            f"Same {fidelity.agreement_k} likeliest tokens",
            _percent(fidelity.topk_agreement),
            "share of the baseline's that are among the candidate's",
        ),
        _row("Perplexity, × baseline", _ratio(fidelity), _ratio_note(fidelity)),
        _row("First divergence", _first(fidelity), _first_note(fidelity)),
        _row("Missed by the bound", _truncation(fidelity), _truncation_note(fidelity)),
        _row("Baseline against itself", _floor(fidelity), _floor_note(fidelity)),
    ]
    return tuple(row for row in rows if row.value)


def parts(fidelity: Fidelity, kind: str) -> tuple[PartRow, ...]:
    """Slices and kinds of text with the worst first, positions in their order."""
    found = [part for part in fidelity.parts if part.kind == kind]
    if kind != "positions":
        found.sort(key=lambda part: (-(part.mean_kl or 0.0), part.name))
    return tuple(_part(part) for part in found)


def sentence(fidelity: Fidelity) -> str:
    """Mean KL and agreement, whether that is more than noise, and the part that is much worse than the others."""
    known = [_nats(fidelity.mean_kl) and f"mean KL {_nats(fidelity.mean_kl)}"]
    known.append(_percent(fidelity.top1_agreement) and f"same first choice at {_percent(fidelity.top1_agreement)}")
    lead = f"{', '.join(filter(None, known))} of {fidelity.positions:,} positions".replace(
        f"nats of {fidelity.positions:,}", f"nats over {fidelity.positions:,}"
    )
    within = "; that is no farther than the baseline is from itself" if fidelity.within_floor else ""
    worse = gates.much_worse_parts(fidelity)
    named = ", ".join(f"{one.part.name} ({_nats(one.part.mean_kl)}, elsewhere {_nats(one.elsewhere)})" for one in worse)
    return units.sentence(f"{lead}{within}.") + (f" Much worse: {named}." if named else "")


def _row(name: str, value: str, note: str) -> FidelityRow:
    return FidelityRow(name, value, note if value else "")


def _part(part: FidelityPart) -> PartRow:
    texts = f"{part.positions:,} in {part.texts} text" + ("" if part.texts == 1 else "s")
    return PartRow(
        part.kind,
        part.name,
        texts,
        part.mean_kl,
        _with_error(_nats(part.mean_kl), part.mean_kl_se) or units.NOT_MEASURED,
        _with_error(_percent(part.top1_agreement), None if part.top1_se is None else 100 * part.top1_se)
        or units.NOT_MEASURED,
        _with_error(_signed(part.log_perplexity_difference), part.log_perplexity_se),
    )


def _with_error(value: str, error: float | None) -> str:
    """`0.034 ± 0.002 nats`: the error before the unit."""
    if not value or error is None:
        return value
    digits, space, unit = value.partition(units.NBSP)
    return f"{digits}{units.NBSP}±{units.NBSP}{units.number(error, 2)}{space}{unit}"


def _nats(value: float | None) -> str:
    return "" if value is None else f"{units.number(value, 2)}{units.NBSP}nats"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{'+' if value > 0 else ''}{units.number(value, 2)}{units.NBSP}nats"


def _percent(value: float | None) -> str:
    return "" if value is None else units.percent(value)


def _worst_kl(fidelity: Fidelity) -> str:
    values = (fidelity.p99_kl, fidelity.p999_kl, fidelity.max_kl)
    known = [units.number(value, 2) for value in values if value is not None]
    return f"{' · '.join(known)}{units.NBSP}nats" if known else ""


def _ratio(fidelity: Fidelity) -> str:
    if fidelity.perplexity_ratio is None:
        return ""
    low, high = fidelity.perplexity_ratio_low, fidelity.perplexity_ratio_high
    limits = f" [{units.number(low, 4)}, {units.number(high, 4)}]" if low is not None and high is not None else ""
    return f"{units.number(fidelity.perplexity_ratio, 4)}×{limits}"


def _ratio_note(fidelity: Fidelity) -> str:
    difference = _with_error(_signed(fidelity.log_perplexity_difference), fidelity.log_perplexity_se)
    texts = f"on {fidelity.perplexity_texts} texts that no model wrote, paired"
    return f"log-perplexity {difference} per token, {texts}" if difference else texts


def _first(fidelity: Fidelity) -> str:
    if not fidelity.answers:
        return ""
    if fidelity.first_divergence is None:
        return f"less than half of {fidelity.answers} answers"
    return f"half of the answers by token {fidelity.first_divergence + 1:.0f}"


def _first_note(fidelity: Fidelity) -> str:
    return f"{fidelity.diverged} of {fidelity.answers} of the baseline's answers have another first choice somewhere"


def _truncation(fidelity: Fidelity) -> str:
    missed = fidelity.truncation
    return _with_error(_nats(missed.missed), missed.missed_se) if missed else ""


def _truncation_note(fidelity: Fidelity) -> str:
    missed = fidelity.truncation
    if missed is None:
        return ""
    reverse = _with_error(_nats(missed.reverse_missed), missed.reverse_missed_se)
    return (
        f"the true mean is higher by about this, by {missed.wide_k:,} instead of {missed.top_k} ids at "
        f"{missed.positions:,} positions; of the other direction {reverse}"
    )


def _floor(fidelity: Fidelity) -> str:
    floor = fidelity.floor
    return f"{_nats(floor.mean_kl)}, at most {_nats(floor.mean_kl_upper)}" if floor else ""


def _floor_note(fidelity: Fidelity) -> str:
    floor = fidelity.floor
    if floor is None:
        return ""
    within = "; the candidate is within it" if fidelity.within_floor else ""
    return f"{floor.how}; same first choice at {units.percent(floor.top1_agreement)}{within}"
