"""`paredown engines`: what can serve, and whether it can here."""

from __future__ import annotations

import click

from paredown import registry
from paredown.cli.output import emit_json, table
from paredown.environments.installed import missing


@click.command("engines")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(as_json: bool) -> None:
    """List the engines, the formats they open, and whether each one can run here."""
    rows = [(engine, missing(engine.needs) or "yes") for engine in registry.engines()]
    if as_json:
        emit_json(
            [
                {
                    "name": engine.name,
                    "summary": engine.summary,
                    "opens": list(engine.opens),
                    "batching": engine.batching.value,
                    "scoring": engine.scoring.name.lower(),
                    "runs_here": here,
                }
                for engine, here in rows
            ]
        )
        return
    table(
        ["engine", "opens", "batching", "log-probabilities", "runs here"],
        [(e.name, ", ".join(e.opens), e.batching.value, e.scoring.name.lower(), here) for e, here in rows],
    )
