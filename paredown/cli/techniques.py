"""`paredown techniques`: what can be tried, what each one buys and costs."""

from __future__ import annotations

import click

from paredown import registry
from paredown.cli.output import emit_json, table


@click.command("techniques")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(name: str | None, as_json: bool) -> None:
    """List the techniques, or explain one: its trade-off, its options, what it needs."""
    chosen = [registry.technique(name)] if name else list(registry.techniques())
    if as_json:
        emit_json(
            [
                {
                    "name": t.name,
                    "rung": t.rung.name.lower(),
                    "summary": t.summary,
                    "trade_off": t.trade_off,
                    "consumes": list(t.consumes),
                    "produces": t.produces,
                    "options": {o.name: o.default for o in t.options},
                    "needs": list(t.needs.packages),
                    "environment": t.environment.name if t.environment else None,
                }
                for t in chosen
            ]
        )
        return
    table(
        ["rung", "technique", "makes", "what it does"],
        [(t.rung.name.lower(), t.name, t.produces, t.summary) for t in chosen],
    )
    if name:
        click.echo(f"\n{chosen[0].trade_off}")
        for option in chosen[0].options:
            click.echo(f"  {option.name} = {option.default}: {option.help}")
