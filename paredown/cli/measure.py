"""`paredown measure`: a model as it is."""

from __future__ import annotations

from pathlib import Path

import click

from paredown.cli.options import given_spec, model_options


@click.command("measure")
@click.argument("model")
@model_options
@click.option("--traffic", multiple=True, metavar="NAME|FILE", help="Workloads: chat, long, concurrent, or a file.")
@click.option("--price-per-hour", type=float, metavar="USD", help="Price of this machine; gives the cost.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(model: str, as_json: bool, run_dir: Path | None, **flags: object) -> int:
    """Measure MODEL as it is: start-up, latency, speed, memory, sizes, cost."""
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_json, figure_table
    from paredown.flow import single

    found = single.measure(given_spec(model, flags), run_dir, for_terminal())
    if as_json:
        emit_json(found)
        return 0
    for traffic, figures in found.figures.items():
        click.echo(f"\n{model} on {found.candidate.engine}, traffic {traffic}")
        if traffic in found.void:
            click.echo(f"Not usable: {found.void[traffic]}")
        figure_table(figures)
    return 0
