"""`paredown env`: the isolated environments that some tools need."""

from __future__ import annotations

from pathlib import Path

import click

from paredown import registry
from paredown.cli.output import table
from paredown.contracts import Environment
from paredown.errors import UnknownNameError


@click.command("env")
@click.argument("name", required=False)
@click.option("--cache", type=click.Path(path_type=Path), help="Where environments are kept.")
def command(name: str | None, cache: Path | None) -> None:
    """List the isolated environments, or make the one that is NAMED now instead of on first use."""
    from paredown.cli.display import for_terminal
    from paredown.environments import ensure, locate
    from paredown.spec.schema import default_cache

    directory = cache or default_cache()
    known = declared()
    if name is None:
        rows = [
            (
                environment.name,
                str(locate(environment, directory) or "not made yet"),
                " ".join(environment.requirements),
            )
            for environment in known.values()
        ]
        table(["environment", "python", "packages"], rows)
        return
    if name not in known:
        raise UnknownNameError("environment", name, known)
    with for_terminal().stage(f"Environment {name}") as stage:
        python = ensure(known[name], directory, stage.update)
    click.echo(python)


def declared() -> dict[str, Environment]:
    """Every environment that a technique or engine declares, by name."""
    wanted = [*(t.environment for t in registry.techniques()), *(e.environment for e in registry.engines())]
    return {environment.name: environment for environment in wanted if environment}
