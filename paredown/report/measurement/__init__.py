"""A measurement for people: `html` one file that opens offline, `markdown` the same in short."""

from paredown.report.measurement.page import html
from paredown.report.measurement.summary import markdown

__all__ = ["html", "markdown"]
