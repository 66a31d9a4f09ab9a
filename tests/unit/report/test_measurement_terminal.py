import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from paredown.records.figure import Figure
from paredown.report import measurement_terminal
from paredown.testing.every_text import changed

PATHS = [("report", "/somewhere/that/is/rather/long/and/would/not/fit/into/eighty/columns/of/text/report.html")]


def shown(measurement, *, tty=False, width=80):
    stream = io.StringIO()
    system = "standard" if tty else "auto"
    console = Console(file=stream, width=width, force_terminal=tty, color_system=system)
    measurement_terminal.show(measurement, console, PATHS)
    return stream.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_the_terminal_except_what_is_to_be_copied(everything, width):
    lines = shown(everything, width=width).splitlines()
    assert all(len(line) <= width for line in lines if not line.startswith(("report", "trace ")))


def test_no_figure_is_cut(everything):
    text = shown(everything)
    assert "…" not in text
    for figure in ("[611 ms, 1.25 s]", "[0.851, 0.854] req/s", "[18.4, ∞)", "19.8 s"):
        assert figure in text


def test_the_headline_and_what_is_void_come_before_the_tables(everything):
    text = shown(everything)
    first = text[: text.index("chat: 60 short questions")]
    assert first.startswith("PARTLY VOID  demo on transformers")
    assert "bursts is void" in first
    assert re.search(r"Time to first token, p95\s+102 ms", first)
    assert re.search(r"Peak memory\s+807 MB", first)


def test_columns_that_have_no_room_are_named(everything):
    assert "Not shown in 80 columns: tpot_p95." in shown(everything)
    assert "Not shown in 110" not in shown(everything, width=110)


def test_figures_of_a_void_traffic_are_not_shown(everything):
    text = shown(replace(everything, traffics=everything.traffics[2:], curves=(), capacities=(), profile=None))
    assert "Void, so its figures are not shown here" in text
    assert "ttft_p95" not in text


def test_what_was_not_measured_is_one_list_for_all_traffics(everything):
    text = shown(everything)
    assert text.count("Not measured:") == 1
    assert text.count("no energy counter") == 1


def test_a_figure_that_one_traffic_lacks_names_it(everything):
    chat, steady, _ = everything.traffics
    lacking = replace(steady, figures=(*steady.figures, Figure("good_fraction", "fraction", None, missing="no limits")))
    flat = " ".join(shown(replace(everything, traffics=(chat, lacking))).split())
    assert "good_fraction under steady (no limits)" in flat


def test_a_point_without_a_figure_gives_its_reason_below_the_table(everything):
    flat = " ".join(shown(everything).split())
    assert "8,192: the engine ran out of memory 8,192: failed: 5 out_of_memory" in flat


def test_escape_sequences_and_console_markup_do_not_act(everything):
    hostile = "[bold]x[/bold]\x1b]0;title\x07\x1b[2J"
    text = shown(
        changed(everything, lambda t: t + hostile if t else t, ("metric", "statistic", "unit", "name")), tty=True
    )
    assert "[bold]x[/bold]" in text
    assert "\x1b]0" not in text
    assert "\x1b[2J" not in text


def test_there_is_no_colour_in_a_file(everything):
    assert "\x1b" not in shown(everything)
    assert "\x1b[" in shown(everything, tty=True)


def test_a_minimal_measurement_is_short(minimal):
    assert len(shown(minimal).splitlines()) < 40


def test_the_steps_of_a_sweep_are_one_table(everything):
    chat = everything.traffics[0]
    steps = tuple(replace(chat, traffic=f"chat, {r}/s", load_shape="poisson", options={"rate": r}) for r in (1.0, 2.0))
    text = shown(replace(everything, traffics=steps, curves=(), profile=None, capacities=()))
    assert "chat, 1.0/s: 60 short questions" not in text
    assert re.search(r"^2.0/s +27.3 tok/s", text, re.MULTILINE)
    assert "every figure of each step" in text


def test_why_a_point_is_void_is_said_once(everything):
    flat = " ".join(shown(replace(everything, traffics=everything.traffics[:1])).split())
    assert flat.count("requests were sent late") == 1
