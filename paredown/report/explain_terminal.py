"""What `paredown explain` prints of one candidate; readable at 80 columns."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from paredown.records.explanation import Explanation, Sensitivity
from paredown.report import answers, fidelity_rows, units, why_rows
from paredown.report.terminal_text import as_text, heading
from paredown.report.view import CandidateView, ReportView

MOST_TEXTS, MOST_ANSWERS, MOST_GROUPS = 3, 4, 12
BAR_CELLS = 24
CONTEXT = 160


def show(candidate: CandidateView, view: ReportView, console: Console) -> None:
    """Names, prompts and answers are printed as text: neither console markup nor escape sequences in them act."""
    verdict = candidate.verdict
    console.print(as_text(f"{candidate.name}: {verdict.verdict.value} at {verdict.stage}", "bold"))
    for reason in verdict.reasons:
        console.print(as_text(reason))
    for extra in (why_rows.looks_text(verdict), why_rows.alpha_text(view.alpha)):
        if extra:
            console.print(as_text(extra, "dim"))
    explanation = candidate.explanation
    if explanation is not None:
        _show_flips(explanation, candidate, view, console)
        _show_groups(explanation, console)
    if candidate.fidelity is not None and candidate.fidelity.positions:
        heading("Next-token distributions", console, "bold cyan")
        console.print(as_text(fidelity_rows.sentence(candidate.fidelity)))
    if explanation is not None:
        _show_drifted(explanation, candidate.name, console)
    if candidate.sensitivity is not None:
        _show_layers(candidate.sensitivity, console)


def _show_flips(explanation: Explanation, candidate: CandidateView, view: ReportView, console: Console) -> None:
    heading("Answers that changed", console, "bold cyan")
    console.print(as_text(why_rows.flips_sentence(explanation)))
    for sentence in explanation.scorers.values():
        console.print(as_text(sentence, "dim"))
    own = [worst for worst in view.worst if worst.candidate == candidate.name]
    for worst in own[:MOST_ANSWERS]:
        pair = answers.pair(worst)
        console.print(as_text(f"{pair.change}: {pair.id} ({pair.slice})", "bold"))
        console.print(as_text(f"  {units.one_line(pair.prompt, CONTEXT)}", "dim"))
        if pair.choices:
            for choice in pair.choices:
                mark = "✓" if choice.right else " "
                shown = f"  {mark} {units.one_line(choice.text, 60)}: {choice.baseline} → {choice.candidate} nats"
                console.print(as_text(shown))
        else:
            console.print(_marked("  baseline:  ", pair.baseline))
            console.print(_marked("  candidate: ", pair.answer))
    if len(own) > MOST_ANSWERS:
        console.print(as_text(f"{len(own) - MOST_ANSWERS} more are in the report.", "dim"))


def _marked(label: str, part: answers.Marked) -> Text:
    """The words around the difference."""
    same = units.visible(part.same)[-60:]
    return Text.assemble(
        (label, "dim"),
        " ".join(same.split("\n")),
        (units.one_line(part.different, 60), "bold underline"),
        units.one_line(part.rest, 80) if part.rest.strip() else "",
    )


def _show_groups(explanation: Explanation, console: Console) -> None:
    if not explanation.groups:
        return
    heading("Who suffers", console, "bold cyan")
    console.print(as_text(why_rows.groups_sentence(explanation)))
    rows = sorted(why_rows.group_rows(explanation), key=lambda row: not row.suffers)
    table = _table("Group", "Prompts", "Lost/gained", "Drop", "95 % limits", "p (Holm)")
    for row in rows[:MOST_GROUPS]:
        style = "red" if row.suffers else ""
        table.add_row(
            as_text(f"{row.tag}: {row.value}", style),
            row.items,
            row.flips,
            as_text(f"{row.drop} {row.limits}"),
            row.p_value,
        )
    console.print(table)
    if len(rows) > MOST_GROUPS:
        console.print(as_text(f"{len(rows) - MOST_GROUPS} more groups are in the report.", "dim"))


def _show_drifted(explanation: Explanation, name: str, console: Console) -> None:
    shown = why_rows.drifted(explanation)
    if not shown:
        if explanation.drifted_missing:
            console.print(as_text(f"Texts that drift: {explanation.drifted_missing}.", "dim"))
        return
    heading("Texts that drift most", console, "bold cyan")
    for text in shown[:MOST_TEXTS]:
        console.print(as_text(f"{text.id} ({text.slice}): {text.headline}", "bold"))
        before, after = units.visible(text.before)[-CONTEXT:], units.visible(text.after)[:CONTEXT]
        console.print(
            Text.assemble(
                "  ", " ".join(before.split("\n")), (units.visible(text.written), "bold underline"),
                " ".join(after.split("\n")),
            )
        )  # fmt: skip
        if text.candidate:
            console.print(as_text(f"  baseline:  {text.baseline}"))
            console.print(as_text(f"  {name}: {text.candidate}"))


def _show_layers(sensitivity: Sensitivity, console: Console) -> None:
    heading("Layers that carry the loss", console, "bold cyan")
    console.print(as_text(why_rows.layers_sentence(sensitivity)))
    rows = why_rows.shown_layers(sensitivity)
    largest = max((row.kl for row in rows), default=0.0)
    if largest <= 0:
        return
    table = _table("Part", "", "KL alone", "Share", "Changed by")
    for row in rows:
        bar = "█" * max(1, round(BAR_CELLS * row.kl / largest)) if row.kl > 0 else ""
        table.add_row(
            as_text(row.name), Text(bar, "blue"), as_text(row.kl_text), as_text(row.share), as_text(row.error)
        )
    console.print(table)


def _table(*heads: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, overflow="fold", justify="left" if place == 0 or not head else "right")
    return table
