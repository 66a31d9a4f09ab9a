"""`paredown compare`: one model directory judged by another."""

from __future__ import annotations

from pathlib import Path

import click

from paredown.cli.options import calibration_option, given_spec, model_options, scorer_option, twins_option
from paredown.records.golden import Fidelity

STATUS = {"SHIP": 0, "REJECT": 3, "INVESTIGATE": 4}


@click.command("compare")
@click.argument("baseline")
@click.argument("candidate", type=click.Path(path_type=Path))
@model_options
@click.option("--golden", multiple=True, metavar="FILE|DATASET", help="Golden prompts.  [default: builtin]")
@scorer_option
@twins_option
@calibration_option
@click.option("--target", "targets", multiple=True, metavar="TARGET", help="Margins, for example 'quality_drop<=3pt'.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(baseline: str, candidate: Path, as_json: bool, run_dir: Path | None, **flags: object) -> int:
    """Judge the model in CANDIDATE by BASELINE: smoke, fidelity, then golden prompts in pairs.

    Exit status: 0 SHIP, 3 REJECT, 4 INVESTIGATE.
    """
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_json, table
    from paredown.flow import single

    found = single.compare(given_spec(baseline, flags), candidate, run_dir, for_terminal())
    if as_json:
        emit_json(found)
        return STATUS[found.verdict.value]
    click.echo(f"{found.verdict.value}")
    for reason in found.reasons:
        click.echo(f"  {reason}")
    if found.fidelity is not None and found.fidelity.positions:
        _show(found.fidelity)
    if found.slices:
        table(
            ["slice", "gate", "prompts", "lost", "gained", "verdict", "reason"],
            [
                (s.slice, "gated" if s.gated else "watched", str(s.counts.n), str(s.counts.lost), str(s.counts.gained),
                 s.verdict.value, s.reason)
                for s in found.slices
            ],
        )  # fmt: skip
    return STATUS[found.verdict.value]


def _show(found: Fidelity) -> None:
    """Every figure of fidelity, then the same by slice, by kind of text and by position."""
    from paredown.cli.output import table
    from paredown.report import fidelity_rows

    table(["fidelity", "", ""], [(row.name, row.value, row.note) for row in fidelity_rows.figures(found)])
    rows = [row for kind in fidelity_rows.KINDS for row in fidelity_rows.parts(found, kind)]
    table(
        ["part", "positions", "mean KL", "same first choice", "log-perplexity"],
        [(row.name, row.positions, row.kl_text, row.top1, row.perplexity) for row in rows],
    )
