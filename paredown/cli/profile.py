"""`paredown profile`: what limits a model on this machine, and which rung of the ladder helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from paredown.cli.options import given_subject, subject_options


@click.command("profile")
@click.argument("model", required=False)
@subject_options
@click.option("--batch", "batches", default="1,2,4,8,16", metavar="N,N,…", help="[default: 1,2,4,8,16]")
@click.option("--prompt-tokens", default="128,512", metavar="N,N,…", help="[default: 128,512]")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(model: str | None, as_json: bool, run_dir: Path | None, cache_dir: Path | None, **flags: Any) -> int:
    """Place prefill and decode of MODEL on the measured roofline, list the operators, and write a Perfetto trace.

    Ends with the sentence that names the bottleneck and the rung that addresses it.
    """
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_measurement, typed_command
    from paredown.flow import alone, profiling

    subject = given_subject(model, flags)
    asked = profiling.asked(str(flags["batches"]), str(flags["prompt_tokens"]))
    progress = for_terminal()
    kept = alone.run(
        subject,
        run_dir or profiling.default_directory(subject),
        cache_dir,
        progress,
        lambda found, store, directory: profiling.profile(found, asked, store, directory, progress, typed_command()),
    )
    emit_measurement(kept, as_json=as_json)
    return 0
