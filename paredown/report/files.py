"""Writes the reports of a run beside its record."""

from __future__ import annotations

from pathlib import Path

from paredown.report import html, markdown
from paredown.report.view import ReportView


def write(view: ReportView, directory: Path) -> Path:
    """`report.html` and `report.md`; returns the path of the HTML file."""
    page = directory / "report.html"
    replace_whole(page, html.render(view))
    replace_whole(directory / "report.md", markdown.render(view))
    return page


def replace_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    half = path.with_suffix(path.suffix + ".half")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
