"""`paredown measure`: a model or a server as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from paredown.cli.options import given_load, given_subject, load_options, subject_options


@click.command("measure")
@click.argument("model", required=False)
@subject_options
@load_options
@click.option(
    "--load",
    metavar="SHAPE[:KEY=VALUE,…]",
    help="Load shape in place of the traffic's own: single_stream, closed_loop:concurrency=8, constant_rate:rate=2, "
    "poisson, gamma, ramp, sweep, replay.",
)
@click.option("--blocks", type=click.IntRange(min=1), default=3, help="Fresh processes, or slices.  [default: 3]")
@click.option("--requests", type=click.IntRange(min=1), help="Requests of each traffic in a block.")
@click.option("--price-per-hour", type=float, metavar="USD", help="Price of this machine; gives the cost.")
@click.option("--context-length", is_flag=True, help="Also: latency against prompt length, up to the window.")
@click.option("--kv-pressure", is_flag=True, help="Also: what happens when the KV cache is nearly full.")
@click.option("--kv-capacity", type=click.IntRange(min=1), metavar="TOKENS", help="What the server's KV cache holds.")
@click.option("--prefix-cache", is_flag=True, help="Also: cold against warm prefix cache.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(model: str | None, as_json: bool, run_dir: Path | None, cache_dir: Path | None, **flags: Any) -> int:
    """Measure MODEL, or the server at --endpoint, as it is: latency, speed, goodput, memory, sizes, cost."""
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_measurement, typed_command
    from paredown.flow import alone, measuring

    subject = given_subject(model, flags)
    load = replace(
        given_load(flags),
        load=flags["load"],
        blocks=flags["blocks"],
        requests_per_block=flags["requests"],
        price_usd_per_hour=flags["price_per_hour"],
        curves=tuple(name for name in measuring.CURVES if flags[name]),
        kv_capacity_tokens=flags["kv_capacity"],
    )
    progress = for_terminal()
    kept = alone.run(
        subject,
        run_dir,
        cache_dir,
        progress,
        lambda found, store, _directory: measuring.measure(found, load, store, progress, typed_command()),
    )
    emit_measurement(kept, as_json=as_json)
    return 0
