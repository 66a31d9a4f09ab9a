"""`paredown run`: the main job."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from paredown.cli.options import run_options


@click.command("run")
@click.argument("model", required=False)
@run_options
@click.option("--exhaust", is_flag=True, default=None, help="Go on after the first rung that meets every target.")
@click.option(
    "--early-stopping/--no-early-stopping",
    default=None,
    help="Whether the confirmation may end before all held-back prompts are asked.  [default: it may]",
)
@click.option("--budget", help="Time limit for the search, for example 10m or 2h.")
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on standard output; the rest on standard error."
)
def command(model: str | None, as_json: bool, spec_file: Path | None, run_dir: Path | None, **flags: object) -> int:
    """Measure MODEL, optimize it step by step, judge every step, and recommend one candidate, or say why none.

    MODEL is `demo` (built in), a directory with a Hugging Face checkpoint, or a hub id.
    """
    from rich.console import Console

    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_json
    from paredown.flow.run import run
    from paredown.report import document, terminal
    from paredown.spec.load import from_flags

    spec = from_flags(model, spec_file, flags)
    finished = run(spec, run_dir, for_terminal(), shlex.join(["paredown", *sys.argv[1:]]))
    if as_json:
        emit_json(document.document(finished.view))
    else:
        terminal.show(finished.view, Console(), [("report", str(finished.report))])
    return finished.decision.exit_status
