"""`paredown audit`: what is weak about prompts, calibration data and tokenizer."""

from __future__ import annotations

from pathlib import Path

import click

from paredown.cli.options import calibration_option, given_spec, scorer_option

NOTHING, REFUSED, WARNED = 0, 2, 4


@click.command("audit")
@click.argument("model")
@click.option("--golden", multiple=True, metavar="FILE|DATASET", help="Golden prompts.  [default: builtin]")
@calibration_option
@click.option("--traffic", multiple=True, metavar="NAME|FILE", help="Traffic that the model serves.  [default: chat]")
@click.option("--target", "targets", multiple=True, metavar="TARGET", help="Margins, for example 'quality_drop<=3pt'.")
@scorer_option
@click.option("--answers", is_flag=True, help="Also ask MODEL every prompt: slices at chance, answers that are cut.")
@click.option("--seed", type=int, help="Seed of the split.  [default: 0]")
@click.option("--allow-pickle", is_flag=True, default=None, help="Open pickle weights (they can run code).")
@click.option("--trust-remote-code", is_flag=True, default=None, help="Run code that the checkpoint brings.")
@click.option("--cache", "cache_dir", type=click.Path(path_type=Path), help="Where models are kept.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(model: str, answers: bool, as_json: bool, **flags: object) -> int:
    """Tell what weakens a verdict before MODEL is judged: its prompts, calibration data, tokenizer and template.

    Only the tokenizer is needed, unless --answers is given. Exit status: 0 nothing, 4 warnings, 2 refused.
    """
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_json, table
    from paredown.flow import auditing

    found = auditing.run(given_spec(model, flags), for_terminal(), answers=answers)
    status = REFUSED if found.refused else WARNED if found.warned else NOTHING
    if as_json:
        emit_json(found)
        return status
    if not found.findings:
        click.echo("Nothing was found that weakens a verdict.")
        return status
    table(
        ["", "finding", "what it is, and what to do"],
        [(one.severity.value, one.kind, one.sentence) for one in found.findings],
    )
    return status
