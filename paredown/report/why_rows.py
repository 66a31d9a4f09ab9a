"""Why a candidate was judged as it was, as it is shown: flips, texts that drifted, groups, layers."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.records.audit import Finding, Severity
from paredown.records.explanation import Choice, DriftedText, Explanation, Group, Sensitivity
from paredown.records.verdict import CandidateVerdict
from paredown.report import units
from paredown.report.view import AlphaSpent, ReportView

WORST_LAYERS = 5
LONGEST_TEXT = 900
SEVERITIES = (Severity.REFUSE, Severity.WARN, Severity.NOTE)
WORDS = {Severity.REFUSE: "refused", Severity.WARN: "warning", Severity.NOTE: "note"}


@dataclass(frozen=True)
class GroupRow:
    tag: str
    value: str
    items: str
    flips: str
    drop: str
    limits: str
    p_value: str
    suffers: bool


@dataclass(frozen=True)
class Drifted:
    """A text that drifted: before, the token on which they differ, after; and what each side would write there."""

    id: str
    slice: str
    headline: str
    before: str
    written: str
    after: str
    baseline: str
    candidate: str
    own_answer: str


@dataclass(frozen=True)
class LayerRow:
    """One part of the model. share: of the sum over all parts."""

    name: str
    kl: float
    kl_text: str
    share: str
    error: str
    marked: bool


def flips_sentence(explanation: Explanation) -> str:
    lost = sum(flip.lost for flip in explanation.flips)
    gained = len(explanation.flips) - lost
    if not explanation.compared:
        return "No prompt was answered by both."
    return (
        f"Of {explanation.compared:,} prompts that both answered, {lost} {_was(lost)} lost and {gained} {_was(gained)} "
        "gained; all others have the same score."
    )


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def groups_sentence(explanation: Explanation) -> str:
    """What suffers, or that nothing stands out. Never more than a pointer."""
    if not explanation.groups:
        return ""
    suffering = [group for group in explanation.groups if group.suffers]
    looked = f"{len(explanation.groups)} groups were looked at, corrected for by Holm; a pointer, never a verdict."
    if not suffering:
        return f"No slice, language, length or other tag stands out. {looked}"
    named = "; ".join(f"{g.tag} {g.value} (lost {g.lost} of {g.n})" for g in suffering[:4])
    more = f"; and {len(suffering) - 4} more" if len(suffering) > 4 else ""
    return f"Suffers most: {named}{more}. {looked}"


def group_rows(explanation: Explanation) -> tuple[GroupRow, ...]:
    return tuple(_group(group) for group in explanation.groups)


def _group(group: Group) -> GroupRow:
    return GroupRow(
        group.tag,
        group.value,
        f"{group.n:,}",
        f"{group.lost} / {group.gained}",
        units.points(group.drop),
        units.interval_text(group.low, group.high, "pt"),
        "<\u00a00.0001" if group.p_value < 1e-4 else units.number(group.p_value, 2),
        group.suffers,
    )


def drifted(explanation: Explanation) -> tuple[Drifted, ...]:
    return tuple(_drifted(text) for text in explanation.drifted)


def _drifted(text: DriftedText) -> Drifted:
    kl = f"mean KL {units.number(text.mean_kl, 2)}{units.NBSP}nats" if text.mean_kl is not None else ""
    same = f"same first choice at {units.percent(text.top1_agreement, 0)} of {text.positions:,} tokens"
    first = _first(text)
    return Drifted(
        text.id,
        text.slice,
        ", ".join(filter(None, [kl, same, first])),
        text.before[-LONGEST_TEXT:],
        "" if text.first is None else _token(text.written),
        text.after[:LONGEST_TEXT],
        _choice(text.baseline),
        _choice(text.candidate),
        text.own_answer[:LONGEST_TEXT],
    )


def _first(text: DriftedText) -> str:
    """`token 12: “ cat” → “ dog”`; without the tokens where the record does not have them."""
    if text.first is None:
        return ""
    if text.baseline is None or text.candidate is None:
        return f"first differs at token {text.first + 1:,}"
    return f"token {text.first + 1:,}: “{_token(text.baseline.text)}” → “{_token(text.candidate.text)}”"


def not_read_text(sensitivity: Sensitivity) -> str:
    """Which tensors stayed as the baseline has them; empty = none."""
    missing = sensitivity.not_read
    if not missing:
        return ""
    named = ", ".join(missing[:3]) + (" …" if len(missing) > 3 else "")
    tensors = "1 tensor" if len(missing) == 1 else f"{len(missing)} tensors"
    return f"Left as in the baseline, because its files do not give them back: {tensors} ({named})."


def _token(text: str) -> str:
    """A token as it is shown: one that is empty ends the answer, white space is written out."""
    if not text:
        return "⟨end⟩"
    return text if text.strip() else text.replace("\n", "⏎").replace(" ", "␣").replace("\t", "⇥")


def _choice(choice: Choice | None) -> str:
    """`“ cat” (baseline 90 %, candidate 20 %)`."""
    if choice is None:
        return ""
    sides = [("baseline", choice.by_baseline), ("candidate", choice.by_candidate)]
    known = [f"{name} {_probability(value)}" for name, value in sides if value is not None]
    return f"“{_token(choice.text)}” ({', '.join(known)})"


def _probability(value: float) -> str:
    return f"under 0.1{units.NBSP}%" if value < 0.001 else units.percent(value, 1 if value < 0.1 else 0)


def layers(sensitivity: Sensitivity) -> tuple[LayerRow, ...]:
    """Every part in the model's order; the five worst blocks are marked."""
    blocks = [part for part in sensitivity.parts if part.name.startswith("block") and part.mean_kl > 0]
    worst = {part.name for part in sorted(blocks, key=lambda part: -part.mean_kl)[:WORST_LAYERS]}
    total = sensitivity.sum_kl
    return tuple(
        LayerRow(
            part.name,
            part.mean_kl,
            f"{units.number(part.mean_kl, 2)}{units.NBSP}nats" if part.weights else "unchanged",
            units.percent(part.mean_kl / total, 0) if total and part.weights else "",
            f"{units.percent(part.relative_error)} of {units.number(part.weights / 1e6, 2)}{units.NBSP}M weights"
            if part.weights
            else "",
            part.name in worst,
        )
        for part in sensitivity.parts
    )


def shown_layers(sensitivity: Sensitivity) -> tuple[LayerRow, ...]:
    """The five worst blocks, worst first, then what is no block."""
    rows = layers(sensitivity)
    worst = sorted((row for row in rows if row.marked), key=lambda row: -row.kl)
    apart = [row for row in rows if not row.name.startswith("block") and row.kl_text != "unchanged"]
    return (*worst, *apart)


def layers_sentence(sensitivity: Sensitivity) -> str:
    if sensitivity.missing:
        return f"Not measured: {sensitivity.missing}."
    if sensitivity.whole_kl is None or not sensitivity.sum_kl:
        return "Its weights give the baseline's answers: what it loses comes from how its engine computes."
    rows = shown_layers(sensitivity)
    worst = [row for row in rows if row.marked]
    share = sum(row.kl for row in worst) / sensitivity.sum_kl
    named = ", ".join(row.name for row in worst)
    texts = "1 text" if sensitivity.texts == 1 else f"{sensitivity.texts} texts"
    lead = f"{named} carry {units.percent(share, 0)} of the loss." if worst else "No block lost anything by itself."
    return (
        f"{lead[:1].upper()}{lead[1:]} The baseline with all of the candidate's weights is "
        f"{units.number(sensitivity.whole_kl, 2)}{units.NBSP}nats away, the parts by themselves add up to "
        f"{units.number(sensitivity.sum_kl, 2)} ({texts}, {sensitivity.positions:,} positions)."
    )


def looks_text(verdict: CandidateVerdict) -> str:
    """How many prompts an early stop saved; empty where the confirmation could not stop early."""
    looks = verdict.looks
    if looks is None:
        return ""
    made = f"{looks.asked:,} of {looks.planned:,} held-back prompts were asked"
    saved = f" ({units.percent(looks.saved, 0)} saved)" if looks.asked < looks.planned else ""
    return f"{made}{saved}, in {looks.looks_made} of {looks.looks_planned} looks. {looks.why}".rstrip()


def alpha_text(alpha: AlphaSpent | None) -> str:
    """The error budget of the run; empty where nothing was confirmed."""
    if alpha is None:
        return ""
    count = len(alpha.spent)
    levels = " + ".join(f"{level:g}" for level in alpha.spent)
    return (
        f"{count} confirmation{'' if count == 1 else 's'} {'was' if count == 1 else 'were'} made and spent {levels} of "
        f"the error budget of {alpha.total:g}; another one would be tested at {alpha.next:.2g}."
    )


def findings(view: ReportView) -> tuple[tuple[str, Finding], ...]:
    """Findings of the audit with their word, the gravest first."""
    ordered = sorted(view.findings, key=lambda one: SEVERITIES.index(one.severity))
    return tuple((WORDS[one.severity], one) for one in ordered)


def findings_title(view: ReportView) -> str:
    """`2 warnings and 3 notes about prompts and tokenizer`; empty = none."""
    counts = [(WORDS[s], sum(one.severity is s for one in view.findings)) for s in SEVERITIES]
    parts = [f"{count} {word}{'' if count == 1 or word == 'refused' else 's'}" for word, count in counts if count]
    return " and ".join(parts) + " about prompts, tokenizer and calibration" if parts else ""
