import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from paredown.report import terminal
from paredown.report.example import view as example_view
from paredown.testing.example_run import SCENARIOS

PATHS = [("report", "/somewhere/that/is/rather/long/and/would/not/fit/into/eighty/columns/of/text/report.html")]


def shown(view, *, tty=False, width=80):
    stream = io.StringIO()
    system = "standard" if tty else "auto"
    terminal.show(view, Console(file=stream, width=width, force_terminal=tty, color_system=system), PATHS)
    return stream.getvalue()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_summary_fits_80_columns_except_what_is_to_be_copied(scenario):
    lines = shown(example_view(SCENARIOS[scenario]())).splitlines()
    copied = ("artifact", "serve it", "report", "check it")
    assert all(len(line) <= 80 for line in lines if not line.startswith(copied))
    assert sum(line.startswith(copied) for line in lines) == 4


def test_there_is_no_colour_in_a_file():
    view = example_view(SCENARIOS["ship"]())
    assert "\x1b" not in shown(view)
    assert "\x1b[" in shown(view, tty=True)


def test_a_path_is_on_one_line_to_be_copied():
    assert PATHS[0][1] in shown(example_view(SCENARIOS["ship"]())).splitlines()[-2]


def test_the_chosen_candidate_is_named_and_every_candidate_has_a_row():
    view = example_view(SCENARIOS["many"]())
    text = shown(view)
    assert "openvino-int8 (chosen)" in text
    assert len(re.findall(r"^\S+ .*(?:SHIP|REJECT|INVESTIGATE)\s", text, re.MULTILINE)) == 12


def test_a_failed_candidate_says_where_and_why_it_ended():
    flat = " ".join(shown(example_view(SCENARIOS["crashed"]())).split())
    assert "onnx-int4 ended at speed: The engine's process ended with signal 9" in flat


def test_escape_sequences_and_console_markup_in_names_do_not_act():
    view = example_view(SCENARIOS["ship"]())
    hostile = "[bold]x[/bold]\x1b]0;title\x07\x1b[2J"
    text = shown(replace(view, decision=replace(view.decision, paragraph=hostile)), tty=True)
    assert "[bold]x[/bold]\\x1b]0;title\\x07\\x1b[2J" in text
    assert "\x1b]0" not in text
    assert "\x1b[2J" not in text
