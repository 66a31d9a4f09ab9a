"""Writes the reports of a run beside its record."""

from __future__ import annotations

from pathlib import Path

from paredown.report import html, markdown
from paredown.report.view import ReportView


def write(view: ReportView, directory: Path) -> Path:
    """`report.html` and `report.md`, each replaced whole; returns the path of the HTML file."""
    page = directory / "report.html"
    for path, text in ((page, html.render(view)), (directory / "report.md", markdown.render(view))):
        half = path.with_suffix(path.suffix + ".half")
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    return page
