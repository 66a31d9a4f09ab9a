"""`paredown capacity`: the largest load that keeps every target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from paredown.cli.options import given_load, given_subject, load_options, subject_options


@click.command("capacity")
@click.argument("model", required=False)
@subject_options
@load_options
@click.option(
    "--axis",
    "axes",
    multiple=True,
    type=click.Choice(["request_rate", "concurrency"]),
    help="What grows.  [default: both, one after the other]",
)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=20.0, help="Length of each run.  [default: 20]")
@click.option("--runs", type=click.IntRange(min=1), default=3, help="Runs at each load.  [default: 3]")
@click.option("--first", type=click.FloatRange(min=0.001), help="Load to begin with.  [default: 1]")
@click.option("--largest", type=click.FloatRange(min=0.001), help="Load at which the search gives up.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(model: str | None, as_json: bool, run_dir: Path | None, cache_dir: Path | None, **flags: Any) -> int:
    """Find the largest request rate and concurrency at which MODEL, or a server, keeps every --target.

    Exit status: 0 found, 3 not even the smallest load keeps them.
    """
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_measurement, typed_command
    from paredown.flow import alone, capacity

    subject, load = given_subject(model, flags), given_load(flags)
    asked = capacity.asked(flags)
    progress = for_terminal()
    kept = alone.run(
        subject,
        run_dir,
        cache_dir,
        progress,
        lambda found, store, _directory: capacity.find(found, load, asked, store, progress, typed_command()),
    )
    emit_measurement(kept, as_json=as_json)
    return 0 if all(one.low is not None for one in kept.measurement.capacities) else 3
