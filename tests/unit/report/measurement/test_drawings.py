import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from paredown.records.figure import Figure
from paredown.records.measurement import Capacity, Curve, CurvePoint
from paredown.report.measurement import curve_drawings, drawings, traffic_drawings


def tips(drawn):
    return [e.get("data-tip") for e in ET.fromstring(str(drawn)).iter("g") if e.get("data-tip")]


def test_latencies_are_drawn_from_the_raw_trial_with_their_percentiles(everything):
    first, gaps = traffic_drawings.distributions(everything.traffics[0], "t")
    assert [tip.split(":")[0] for tip in tips(first.drawn.wide)] == ["ttft_p50", "ttft_p95"]
    assert [tip.split(":")[0] for tip in tips(gaps.drawn.wide)] == ["itl_p50", "itl_p95", "itl_p99"]


def test_a_percentile_that_the_samples_do_not_bound_is_not_marked_and_is_named(everything):
    chat = everything.traffics[0]
    figures = tuple(replace(f, high=None) if f.name == "ttft_p95" else f for f in chat.figures)
    first = traffic_drawings.distributions(replace(chat, figures=figures), "t")[0]
    assert [tip.split(":")[0] for tip in tips(first.drawn.wide)] == ["ttft_p50"]
    assert first.remark == "Not marked: p95, which these samples do not bound."


def test_where_no_percentile_is_bounded_no_dot_is_drawn(everything):
    chat = everything.traffics[0]
    unbounded = tuple(replace(f, low=None, high=None) for f in chat.figures)
    first = traffic_drawings.distributions(replace(chat, figures=unbounded), "t")[0]
    assert tips(first.drawn.wide) == []
    assert (first.marked, first.remark) == (False, "Not marked: p50, p95, which these samples do not bound.")


def test_without_raw_events_there_is_neither_distribution_nor_timeline(minimal):
    assert traffic_drawings.distributions(minimal.traffics[0], "t") == ()
    assert traffic_drawings.over_time(minimal.traffics[0], "t") is None


def test_latency_from_due_and_from_sent_are_both_drawn_where_requests_were_sent_late(everything):
    chat, _, bursts = (traffic_drawings.distributions(t, "t")[0] for t in everything.traffics)
    assert not chat.queued
    assert bursts.queued
    assert "from sent" in str(bursts.drawn.wide)


def test_only_an_open_loop_has_a_timeline(everything):
    assert traffic_drawings.over_time(everything.traffics[0], "t") is None
    found = traffic_drawings.over_time(everything.traffics[1], "t")
    assert found.caption == "All 60 requests of the first of 5 blocks"
    assert sum("failed: timeout" in tip for tip in tips(found.bars.wide)) == 2


def points(*rows, metric="ttft", unit="s", statistic="p95"):
    return tuple(
        CurvePoint(x, f"{x:g}", (Figure(metric, unit, value, 60, statistic, value and value * 0.9, high),), void=void)
        for x, value, high, void in rows
    )


def test_a_context_length_is_drawn_on_logarithmic_axes():
    found = Curve("context_length", "prompt length", "tokens", points((128, 0.1, 0.2, ""), (8192, 9.0, 9.9, "")))
    (chart,) = curve_drawings.curve(found, "c")
    text = str(chart.chart.wide)
    assert "prompt length, tokens (logarithmic)" in text
    assert "time to first token (logarithmic)" in text
    assert ">8,192<" in text


def test_every_point_of_a_curve_tells_its_figure_and_its_limits():
    found = Curve("context_length", "prompt length", "tokens", points((128, 0.1, 0.2, ""), (256, 0.3, None, "")))
    (chart,) = curve_drawings.curve(found, "c")
    shown = [tip.replace("\u00a0", " ") for tip in tips(chart.chart.wide)]
    assert shown == [
        "128, ttft_p95: 100 ms 95 % [90.0, 200] ms, n = 60",
        "256, ttft_p95: 300 ms 95 % [270, ∞) ms, n = 60",
    ]


def test_a_void_point_is_marked_as_void_with_its_reason():
    found = Curve("context_length", "x", "", points((1, 0.1, 0.2, ""), (2, 0.3, 0.4, "late"), (3, 0.1, 0.2, "")))
    (chart,) = curve_drawings.curve(found, "c")
    assert chart.crosses
    assert any("void, late" in tip for tip in tips(chart.chart.wide))
    assert not any("300" in tip for tip in tips(chart.chart.wide))


def test_a_load_is_drawn_at_the_throughput_it_reached_and_names_the_steps_left_out(everything):
    first, second = curve_drawings.curve(everything.curves[0], "c")
    assert first.title == "Output throughput against time to first token"
    assert second.title == "Output throughput against time per output token"
    assert first.chart.missing == ("3/s: void, " + everything.curves[0].points[2].void,)
    assert [name for _, _, name in first.legend] == ["ttft_p50", "ttft_p95"]
    paths = [e.get("d") for e in ET.fromstring(str(first.chart.wide)).iter("path") if e.get("class") == "curve choice"]
    assert [d.count("L") for d in paths] == [1, 2]


@pytest.mark.parametrize("name", ["kv_pressure", "prefix_cache"])
def test_experiments_are_tables_and_not_curves(name):
    assert curve_drawings.curve(Curve(name, "x", "", points((1, 0.1, 0.2, ""), (2, 0.2, 0.3, ""))), "c") == ()


def test_a_curve_without_a_usable_figure_is_not_drawn():
    assert curve_drawings.curve(Curve("context_length", "x", "", points((1, None, None, ""))), "c") == ()
    assert curve_drawings.curve(Curve("load", "x", "", ()), "c") == ()


def test_the_roofline_has_the_ceilings_that_the_floors_were_worked_out_with(everything):
    text = str(drawings.roofs(everything.profile).wide)
    assert re.search(r"read bandwidth 14\.2.GB/s", text)
    assert re.search(r"float32 96.Gop/s", text)
    shown = [tip.split(":")[0] for tip in tips(drawings.roofs(everything.profile).wide)]
    assert shown == [f"{phase}, batch {batch}" for phase in ("prefill", "decode") for batch in (1, 4, 16)]


def test_a_placement_shows_the_spread_of_its_steps(everything):
    svg = ET.fromstring(str(drawings.roofs(everything.profile).wide))
    assert len([e for e in svg.iter("line") if "limits" in e.get("class")]) == 6
    bare = replace(everything.profile.placements[0], low_s=None)
    assert drawings.quartiles(bare) == ""


def test_without_placements_or_loads_there_is_no_chart(everything):
    assert drawings.roofs(replace(everything.profile, placements=())) is None
    assert drawings.capacity(Capacity("concurrency", "", None, None, (), (), "none"), "c") is None
    assert drawings.memory(()) is None
