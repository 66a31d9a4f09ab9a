"""Why a candidate was judged as it was, as Markdown; everything from outside is escaped."""

from __future__ import annotations

from paredown.report import fidelity_rows, why_rows
from paredown.report.markdown_text import code, escape, fence, table
from paredown.report.view import CandidateView, ReportView

MOST_TEXTS = 3


def why(view: ReportView) -> list[str]:
    """Blocks of the section on the choice; nothing when there is none."""
    choice = view.choice
    if choice is None:
        return []
    return [
        f"## Why: {escape(choice.name)}",
        *_explanation(choice),
        *_fidelity(choice),
        *_drifted(choice),
        *_layers(view, choice),
    ]


def findings(view: ReportView) -> list[str]:
    """What the audit found, a line each."""
    found = [
        f"- **{word}**{f' ({escape(one.slice)})' if one.slice else ''}: {escape(one.sentence)}"
        for word, one in why_rows.findings(view)
    ]
    return ["### " + why_rows.findings_title(view), "\n".join(found)] if found else []


def spent(view: ReportView) -> list[str]:
    """Early stopping and the error budget."""
    looks = why_rows.looks_text(view.choice.verdict) if view.choice else ""
    return [escape(text) for text in (looks, why_rows.alpha_text(view.alpha)) if text]


def _explanation(choice: CandidateView) -> list[str]:
    explanation = choice.explanation
    if explanation is None:
        return [f"It ended at {escape(choice.verdict.stage)}, before any prompt was answered."]
    parts = [escape(why_rows.flips_sentence(explanation)), *map(escape, explanation.scorers.values())]
    if explanation.groups:
        lines = [
            (
                escape(f"{row.tag}: {row.value}"),
                row.items,
                row.flips,
                escape(f"{row.drop} {row.limits}"),
                escape(row.p_value),
            )
            for row in why_rows.group_rows(explanation)
        ]
        head = ("Group", "Prompts", "Lost / gained", "Drop and limits", "p (Holm)")
        parts += [escape(why_rows.groups_sentence(explanation)), table(head, lines)]
    return parts


def _fidelity(choice: CandidateView) -> list[str]:
    fidelity = choice.fidelity
    if fidelity is None or not fidelity.positions:
        return []
    parts = ["### Next-token distributions", escape(fidelity_rows.sentence(fidelity))]
    lines = [(escape(row.name), escape(row.value), escape(row.note)) for row in fidelity_rows.figures(fidelity)]
    parts.append(table(("Figure", "Value", "Rests on"), lines))
    by_part = [
        (title, escape(row.name), row.positions, escape(row.kl_text), escape(row.top1), escape(row.perplexity))
        for kind, title in fidelity_rows.KINDS.items()
        for row in fidelity_rows.parts(fidelity, kind)
    ]
    head = ("By", "", "Positions", "Mean KL", "Same first choice", "Log-perplexity, change")
    return [*parts, table(head, by_part)] if by_part else parts


def _drifted(choice: CandidateView) -> list[str]:
    explanation = choice.explanation
    shown = why_rows.drifted(explanation) if explanation else ()
    if not shown:
        return []
    parts = ["### Texts that drift most"]
    for text in shown[:MOST_TEXTS]:
        parts += [f"**{escape(text.id)}** ({escape(text.slice)}): {escape(text.headline)}"]
        parts.append(fence(f"{text.before}▶{text.written}◀{text.after}" if text.written else text.before))
        if text.candidate:
            parts.append(f"Baseline: {code(text.baseline)} · {escape(choice.name)}: {code(text.candidate)}")
    return parts


def _layers(view: ReportView, choice: CandidateView) -> list[str]:
    sensitivity = choice.sensitivity
    if sensitivity is None:
        command = code(f"paredown explain {view.record.path} {choice.name}")
        return ["### Layers that carry the loss", f"Not looked at: {command}"]
    lines = [
        (escape(row.name), escape(row.kl_text), escape(row.share), escape(row.error))
        for row in why_rows.shown_layers(sensitivity)
    ]
    parts = ["### Layers that carry the loss", escape(why_rows.layers_sentence(sensitivity))]
    return [*parts, table(("Part", "KL alone", "Share", "Changed by"), lines)] if lines else parts
