from dataclasses import replace

import pytest

from paredown.records.figure import Figure
from paredown.records.measurement import Capacity, CapacityPoint, Curve, CurvePoint, OperatorRow, OperatorTable
from paredown.report.measurement import rows


def capacity(low, high, *points, note=""):
    return Capacity("request_rate", "req/s", low, high, ("ttft_p95<=1s",), points, "It carries.", note)


@pytest.mark.parametrize(
    ("point", "outcome"),
    [
        (CapacityPoint(1, 3, 3), "met"),
        (CapacityPoint(1, 3, 3, void=1), "met"),
        (CapacityPoint(1, 3, 1), "mixed"),
        (CapacityPoint(1, 3, 0, void=1), "missed"),
        (CapacityPoint(1, 0, 0, void=2), "void"),
    ],
)
def test_the_outcome_of_a_load_counts_the_runs_that_are_not_void(point, outcome):
    assert rows.outcome(point) == outcome


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (4.5, 6.0, "between 4.5 and 6 req/s"),
        (4.5, None, "at least 4.5 req/s"),
        (None, 0.5, "below 0.5 req/s"),
        (None, None, "not measured (no run counts)"),
    ],
)
def test_the_limits_of_a_capacity_read_as_words(low, high, text):
    assert rows.limits_text(capacity(low, high, note="no run counts")).replace("\u00a0", " ") == text


def test_loads_are_listed_by_rising_load_with_what_they_missed():
    found = rows.load_rows(capacity(1, 2, CapacityPoint(2, 3, 0, missed="ttft"), CapacityPoint(1, 3, 3, void=1)))
    assert [(r.load[0], r.words, r.runs, r.missed) for r in found] == [
        ("1", "every run met", "3 of 3 met, 1 void", ""),
        ("2", "no run met", "0 of 3 met", "ttft"),
    ]


def test_a_void_point_shows_no_figure_and_says_why():
    point = CurvePoint(1, "1/s", (Figure("ttft", "s", 0.1, 60, "p50"),), void="sent late")
    table = rows.curve_table(Curve("load", "rate", "req/s", (point,)))
    assert table.rows[0].cells[0] == rows.Cell("void", state="void")
    assert table.rows[0].outcome == ("void: sent late",)


def test_a_figure_of_a_void_trial_shows_no_figure_in_a_curve():
    assert rows.cell(Figure("ttft", "s", 0.1, 60, "p50", note="void: late")).state == "void"


def test_a_curve_shows_the_figures_it_is_about_and_of_an_unknown_one_the_first_five():
    figures = tuple(Figure(name, "s", 1.0, 5) for name in ("a_mean", "b", "c", "d", "e", "f", "ttft_p50"))
    point = CurvePoint(1, "1", figures)
    assert rows.curve_table(Curve("load", "", "", (point,))).columns == ("ttft_p50",)
    assert rows.curve_table(Curve("other", "", "", (point,))).columns == ("b", "c", "d", "e", "f")


def operators(count):
    share = 1 / count
    shown = tuple(OperatorRow(f"op{i}", 2, 0.01 * share, share) for i in range(count))
    return OperatorTable("decode", 1, 1, 4, 0.02, 0.01, shown)


def test_operators_beyond_the_first_are_added_up_and_the_framework_comes_last():
    lines = rows.operator_lines(operators(40), 12)
    assert len(lines) == 14
    assert (lines[12].name, lines[12].calls) == ("other 28 operators", "56")
    assert sum(line.share for line in lines[:13]) == pytest.approx(1)
    assert lines[13].share is None
    assert lines[13].share_text.startswith("50.0")


def test_a_single_operator_is_never_called_other_operators():
    assert [line.name for line in rows.operator_lines(operators(13), 12)][12] == "op12"


def test_the_rest_of_the_memory_is_the_peak_without_its_parts(everything):
    (row,) = rows.memory_rows(everything.traffics[:1])
    assert sum(part.bytes for part in row.parts) == row.peak
    assert row.parts[-1].name == "Rest"
    assert any("23.0" in remark for remark in row.remarks)


def test_a_part_that_was_not_separated_is_unknown_and_named_in_the_rest(everything):
    chat = everything.traffics[0]
    missing = replace(
        chat,
        figures=tuple(
            replace(f, value=None, missing="not separated") if f.metric == "kv_cache_memory" else f
            for f in chat.figures
        ),
    )
    (row,) = rows.memory_rows((missing,))
    assert row.parts[1].bytes is None
    assert "kv cache" in row.parts[-1].why
    assert sum(part.bytes for part in row.parts if part.bytes is not None) == row.peak


def test_parts_that_no_metric_gives_come_from_the_trial(everything):
    chat = everything.traffics[0]
    bare = replace(chat, figures=tuple(f for f in chat.figures if f.metric != "activations_memory"))
    assert rows.memory_rows((bare,))[0].parts[2].bytes == 61_000_000


def test_a_void_traffic_has_no_memory_row(everything):
    assert rows.memory_rows(everything.traffics[2:]) == ()


def test_failures_come_with_their_share(everything):
    assert [(r.name, r.count, r.share.replace("\u00a0", " ")) for r in rows.failures(everything.traffics[1])] == [
        ("status_429", 3, "1.0 %"),
        ("timeout", 2, "0.7 %"),
    ]
