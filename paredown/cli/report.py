"""`paredown report`: the reports of a run, written again from its record."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output; no file is written.")
@click.option("--markdown", is_flag=True, help="Markdown on standard output; no file is written.")
def command(run: Path, as_json: bool, markdown: bool) -> int:
    """Write the report of RUN again (report.html and report.md), or print it."""
    from paredown.cli.output import emit_json
    from paredown.flow.again import view_of
    from paredown.report import document, files
    from paredown.report import markdown as as_markdown

    view = view_of(run)
    if as_json:
        emit_json(document.document(view))
    elif markdown:
        click.echo(as_markdown.render(view), nl=False)
    else:
        click.echo(files.write(view, run))
    return 0
