"""`paredown explain`: why a candidate was judged as it was, and which of its layers carry the loss."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("explain")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("candidates", nargs=-1, metavar="[CANDIDATE]…")
@click.option("--layers/--no-layers", default=True, help="Also measure which layers carry the loss.  [default: yes]")
@click.option("--cache", type=click.Path(path_type=Path), help="Where models and environments are kept.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(run: Path, candidates: tuple[str, ...], layers: bool, cache: Path | None, as_json: bool) -> int:
    """Explain how the candidates of RUN were judged: by default the one that its decision is about.

    Answers that changed, texts that drifted most with the first token on which they differ, the slice, language or
    length that suffers, and the layers that carry the loss: each part of the candidate's weights is put into the
    baseline by itself (half a minute on the built-in model). It goes into the record and the report of RUN.
    """
    from rich.console import Console

    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_json
    from paredown.flow.layers import explain_run
    from paredown.report import document
    from paredown.report.explain_terminal import show

    found = explain_run(run, candidates, for_terminal(), layers=layers, cache=cache)
    shown = [one for one in found.view.candidates if one.name in found.candidates]
    if as_json:
        emit_json({one.name: document.explanation(one) for one in shown})
        return 0
    console = Console()
    for one in shown:
        show(one, found.view, console)
    click.echo(f"\nReport: {found.report}")
    return 0
