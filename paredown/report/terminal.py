"""The summary that a run prints last: the paragraph, the candidates, the targets and where everything is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from paredown.report import rows, target_rows, units
from paredown.report.terminal_text import as_text
from paredown.report.view import ReportView

STYLES = {
    "SHIP": "green",
    "REJECT": "red",
    "INVESTIGATE": "yellow",
    "met": "green",
    "missed": "red",
    "unknown": "yellow",
}
_BADGE_STYLES = {"ship": "bold green", "missed": "bold red", "investigate": "bold yellow"}


def show(view: ReportView, console: Console, paths: Sequence[tuple[str, str]] = ()) -> None:
    """Print the summary; readable at 80 columns. `paths`: what was written, as (what, where).

    Names and sentences are printed as text: neither console markup nor escape sequences in them act.
    """
    badge = rows.badge(view)
    console.print(Text(badge.words, _BADGE_STYLES[badge.class_]))
    console.print(as_text(view.decision.paragraph))
    if view.model.caution:
        console.print(as_text(f"Caution: {view.model.caution}", "yellow"))
    for note in (*view.notes, *view.asked.notes):
        console.print(as_text(note, "dim"))
    ladder = rows.ladder(view)
    console.print(_candidates(ladder, view.chosen))
    for row in ladder:
        if row.failed:
            console.print(as_text(f"{row.name} ended at {row.stage}: {units.one_line(row.why)}", "red"))
    for target in target_rows.targets(view):
        mark = {"met": "met", "missed": "missed", "unknown": "not measured"}[target.state]
        line = Text.assemble((f"{mark:<13}", STYLES[target.state]), as_text(f"{target.asked}: {target.got}"))
        console.print(Padding(line, (0, 0, 0, 1)))
    if view.decision.left_out:
        console.print(as_text(f"{len(view.decision.left_out)} left out of the plan; the report says why.", "dim"))
    _print_paths(view, console, paths)


def _candidates(ladder: Sequence[rows.LadderRow], chosen: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("Candidate", overflow="fold", min_width=14)
    for name in ("Verdict", "Speed", "Weights", "KL", "Drop"):
        table.add_column(name, justify="left" if name == "Verdict" else "right", no_wrap=True)
    for row in ladder:
        table.add_row(
            as_text(f"{row.name} ({chosen})" if row.chosen else row.name, "bold" if row.chosen else ""),
            Text(row.verdict, STYLES[row.verdict]),
            as_text(_short(row.speed.text, known=row.speed.value is not None)),
            as_text(_short(row.weights.percent, known=row.weights.value is not None)),
            as_text(_short(units.number(row.kl, 2) if row.kl is not None else "", known=row.kl is not None)),
            as_text(_short(row.drop_text, known=row.drop is not None)),
        )
    return table


def _short(text: str, *, known: bool) -> str:
    """A narrow cell cannot hold the reason; the lines below the table or the report have it."""
    return text if known else "unknown"


def _print_paths(view: ReportView, console: Console, paths: Sequence[tuple[str, str]]) -> None:
    found = [
        ("artifact", view.decision.artifact),
        ("serve it", view.decision.serve_command),
        *paths,
        ("check it", f"paredown verify {view.record.path} --digest {view.record.root_digest}"),
    ]
    for what, where in found:
        if where:
            # Not wrapped, so that it can be copied whole.
            console.print(Text.assemble((f"{what:<10}", "bold"), as_text(where)), soft_wrap=True)
