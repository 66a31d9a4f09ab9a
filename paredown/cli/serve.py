"""`paredown serve`: the chosen candidate of a run, by the same host that was measured."""

from __future__ import annotations

import signal
from pathlib import Path

import click


@click.command("serve")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--candidate", help="Another candidate of the run than the recommended one (or: baseline).")
@click.option("--port", type=int, default=8000, show_default=True, help="Port on 127.0.0.1.")
def command(run: Path, candidate: str | None, port: int) -> int:
    """Serve the chosen candidate of RUN on 127.0.0.1 over OpenAI's HTTP interface, until Ctrl-C.

    A key is made at each start and printed; every request needs it.
    """
    from paredown.cli.display import for_terminal
    from paredown.serve.candidate import serving

    with for_terminal().stage("Starting"):
        context = serving(run, candidate, port)
        running = context.__enter__()
    try:
        click.echo(f"Serving {running.model_name} at {running.url}/v1  (key: {running.api_key})")
        click.echo(
            f"curl {running.url}/v1/chat/completions -H 'Authorization: Bearer {running.api_key}' "
            f'-H \'Content-Type: application/json\' -d \'{{"model": "{running.model_name}", '
            '"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 50}\''
        )
        signal.pause()
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
    finally:
        context.__exit__(None, None, None)
    return 0
