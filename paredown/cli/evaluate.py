"""`paredown evaluate`: a model on golden prompts."""

from __future__ import annotations

from pathlib import Path

import click

from paredown.cli.options import given_spec, model_options, scorer_option, twins_option


@click.command("evaluate")
@click.argument("model")
@model_options
@click.option("--golden", multiple=True, metavar="FILE|DATASET", help="Golden prompts.  [default: builtin]")
@scorer_option
@twins_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(model: str, as_json: bool, run_dir: Path | None, **flags: object) -> int:
    """Score MODEL on golden prompts, slice by slice."""
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_json, table
    from paredown.flow import single

    rows = single.evaluate(given_spec(model, flags), run_dir, for_terminal())
    if as_json:
        emit_json(rows)
        return 0
    table(
        ["slice", "score", "guessing", "prompts", "not scored"],
        [
            (
                r.slice + (f", {r.twins} as choices" if r.twins else ""),
                _percent(r.score),
                _percent(r.chance),
                str(r.scored),
                str(r.unscored),
            )
            for r in rows
        ],
    )
    return 0


def _percent(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"
