"""Text that a terminal shows: control characters made visible, and ordinary spaces."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from paredown.report import units


def as_text(content: str, style: str = "") -> Text:
    return Text(units.visible(content).replace(units.NBSP, " "), style)


def heading(content: str, console: Console, style: str = "bold") -> None:
    """After an empty line."""
    console.print()
    console.print(as_text(content, style))
