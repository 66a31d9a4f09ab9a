"""`paredown verify`: a run's figures and verdict, computed again."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("verify")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--digest", help="The record's digest as it was published with the decision.")
def command(run: Path, digest: str | None) -> int:
    """Recompute every figure and the verdict of RUN from its raw record, offline. Exit status 1 if anything differs."""
    from paredown.flow.verify import verify

    found = verify(run, digest)
    click.echo(
        f"Verified: {found.entries} entries unchanged; {found.figures} figures, {found.candidates} verdicts and the "
        f"decision ({found.decision.verdict.value}) come out as recorded.\nRecord: {found.root_digest}"
    )
    return 0
