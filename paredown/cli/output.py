"""What the verbs print: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from paredown.records import codec
from paredown.records.figure import Figure

if TYPE_CHECKING:
    from paredown.flow.alone import Kept


def emit_json(document: object) -> None:
    """One JSON document on standard output, and nothing else there."""
    click.echo(json.dumps(codec.to_plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table that wraps at the width of the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    Console().print(drawn)


def figure_table(figures: Iterable[Figure]) -> None:
    """Figures with unit, count and interval; what was not measured says why."""
    from paredown.report.units import figure_text, spread_text

    rows = [(figure.name, figure_text(figure), spread_text(figure)) for figure in figures]
    table(["metric", "value", "interval, count"], rows)


def typed_command() -> str:
    """The command line as it was typed, for the record."""
    return shlex.join(["paredown", *sys.argv[1:]])


def emit_measurement(kept: Kept, *, as_json: bool) -> None:
    """What was found, for people or (without its raw events, which the record keeps) as one JSON document."""
    if as_json:
        traffics = tuple(replace(one, trial=None) for one in kept.measurement.traffics)
        emit_json(replace(kept.measurement, traffics=traffics))
        return
    from rich.console import Console

    from paredown.report import measurement_terminal

    measurement_terminal.show(kept.measurement, Console())
    if kept.report is None:
        click.echo("\nNot kept. Add --run-dir DIR for the record, the raw events and an HTML report.")
    else:
        click.echo(f"\nReport: {kept.report}")
