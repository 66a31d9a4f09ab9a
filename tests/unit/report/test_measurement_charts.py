"""Charts that only a measurement has, read back from their SVG."""

import re
from xml.etree import ElementTree as ET

import pytest

from paredown.report.charts import capacity, curve, latency, parts, timeline

PLAIN = curve.Axis("load, req/s", lambda v: f"{v:g}")
SECONDS = curve.Axis("ttft", lambda v: f"{v:g} s")


def place(x, y=None, low=None, high=None, **more):
    return curve.Place(x, y, f"tip {x:g}", low, high, low is not None or high is not None, **more)


def drawn(*places, x=PLAIN, y=SECONDS, width=500):
    return ET.fromstring(str(curve.draw("c", "Curve", [curve.Series("p95", "choice", places)], x, y, width, 300)))


def of_class(svg, tag, class_):
    return [e for e in svg.iter(tag) if class_ in (e.get("class") or "").split()]


def test_a_line_joins_neighbours_and_breaks_at_a_void_point():
    whole = drawn(place(1, 1), place(2, 2), place(3, 3), place(4, 4))
    broken = drawn(place(1, 1), place(2, 2), place(3, 9, void=True), place(4, 4), place(5, 5))
    assert [e.get("d").count("L") for e in of_class(whole, "path", "curve")] == [3]
    assert [e.get("d").count("L") for e in of_class(broken, "path", "curve")] == [1, 1]


def test_a_place_that_is_nowhere_breaks_the_line_too():
    assert [
        e.get("d").count("L") for e in of_class(drawn(place(1, 1), place(2, 2), None, place(4, 4)), "path", "curve")
    ] == [1]


def test_a_void_point_is_a_cross_on_the_axis_and_not_at_its_value():
    svg = drawn(place(1, 1), place(2, 1.5, void=True))
    (cross,) = of_class(svg, "g", "void")
    axis = of_class(svg, "line", "axis")[0].get("y1")
    assert cross.find("circle").get("cy") == axis
    assert cross.get("data-tip") == "tip 2"


def test_limits_are_drawn_from_low_to_high():
    svg = drawn(place(1, 1.0, 0.5, 2.0), place(2, 4.0, 3.0, 4.0))
    upright = [e for e in of_class(svg, "line", "limits") if e.get("x1") == e.get("x2")]
    lengths = [float(e.get("y1")) - float(e.get("y2")) for e in upright]
    assert lengths[0] == pytest.approx(1.5 * lengths[1], abs=0.3)


def test_an_unbounded_limit_runs_to_the_edge_and_ends_in_an_arrow():
    svg = drawn(place(1, 1.0, 0.5, None), place(2, 2.0, 1.5, 2.5))
    assert len(of_class(svg, "path", "limits")) == 1
    upright = of_class(svg, "line", "limits")[0]
    assert float(upright.get("y2")) == 30


def test_a_figure_without_limits_has_neither_bar_nor_arrow():
    svg = drawn(place(1, 1.0), place(2, 2.0))
    assert not of_class(svg, "line", "limits")
    assert not of_class(svg, "path", "limits")


def test_limits_across_are_drawn_where_x_was_measured():
    svg = drawn(place(100, 1.0, 0.5, 1.5, x_low=90, x_high=130), place(200, 2.0, 1.5, 2.5, x_low=190, x_high=220))
    level = [e for e in of_class(svg, "line", "limits") if e.get("y1") == e.get("y2") and e.get("x1") != e.get("x2")]
    assert len([e for e in level if abs(float(e.get("x1")) - float(e.get("x2"))) > 9]) == 2


def test_two_series_without_measured_x_stand_apart():
    series = [
        curve.Series(n, c, (place(1, 1.0, 0.5, 2), place(2, 1.0, 0.5, 2))) for n, c in (("a", "base"), ("b", "choice"))
    ]
    svg = ET.fromstring(str(curve.draw("c", "t", series, PLAIN, SECONDS, 500, 300)))
    upright = {e.get("x1") for e in of_class(svg, "line", "limits") if e.get("x1") == e.get("x2")}
    assert len(upright) == 4


def test_ticks_stand_at_the_points_where_they_have_room():
    at = (128.0, 256.0, 512.0, 520.0)
    axis = curve.Axis("prompt, tokens", lambda v: f"{v:,.0f}", log=True, at=at)
    svg = drawn(*(place(x, 1.0) for x in at), x=axis)
    shown = [t.text for t in of_class(svg, "text", "tick") if "s" not in t.text]
    assert shown == ["128", "256", "512"]


def test_every_point_is_told_in_the_description():
    text = drawn(place(1, 1.0), place(2, None)).find("desc").text
    assert "ttft against load, req/s" in text
    assert "tip 1; tip 2" in text


def request(number, due, sent, first, done, failure=""):
    return timeline.Request(f"r{number}", due, sent, first, done, failure)


def test_a_request_is_a_bar_of_its_phases():
    svg = ET.fromstring(str(timeline.draw("t", "t", [request(0, 0, 1, 3, 7), request(1, 0, 0, 4, 8)], 500)))
    first = [r for r in of_class(svg, "g", "bar")[0].iter("rect") if "phase" in r.get("class")]
    widths = [float(r.get("width")) for r in first]
    assert [r.get("class").split()[1] for r in first] == ["late", "waiting", "answering"]
    assert [w / widths[0] for w in widths] == pytest.approx([1, 2, 4], rel=0.02)


def test_a_failed_request_says_its_class():
    svg = ET.fromstring(
        str(timeline.draw("t", "t", [request(0, 0, 0, None, 4, "timeout"), request(1, 0, 0, 1, 2)], 500))
    )
    bar = of_class(svg, "g", "bar")[0]
    assert "failed: timeout" in bar.get("data-tip")
    assert of_class(bar, "rect", "failed")


def test_of_many_requests_sixty_are_shown_with_first_last_and_failed_ones():
    many = [request(i, i, i, i + 1, i + 2, "timeout" if i == 501 else "") for i in range(1000)]
    names = [r.name for r in timeline.shown(many)]
    assert len(names) == timeline.MOST_ROWS
    assert {"r0", "r501", "r999"} <= set(names)


def test_many_failures_do_not_push_the_others_out():
    many = [request(i, i, i, None, i + 2, "timeout") if i % 2 else request(i, i, i, i + 1, i + 2) for i in range(1000)]
    failed = sum(bool(r.failure) for r in timeline.shown(many))
    assert timeline.MOST_ROWS // 3 <= failed < timeline.MOST_ROWS


def test_the_most_in_flight_counts_failed_ones_until_they_end():
    requests = [request(0, 0, 0, 1, 10), request(1, 1, 1, None, 3, "timeout"), request(2, 4, 4, 5, 6)]
    assert timeline.most_behind(requests) == 2


def test_begun_is_never_below_ended():
    requests = [request(i, i, i, None if i % 2 else i + 1, i + 2, "timeout" if i % 2 else "") for i in range(9)]
    svg = ET.fromstring(str(timeline.counts("t", "t", requests, 500, 300)))
    tops = [min(float(y) for y in re.findall(r" ([\d.]+)", e.get("d"))) for e in of_class(svg, "path", "curve")]
    assert tops[1] == tops[2]


def tried(*loads):
    return [capacity.Tried(load, outcome, f"{load:g} {outcome}") for load, outcome in loads]


def show(value):
    return f"{value:g}"


def test_the_band_of_a_capacity_lies_between_its_limits():
    loads = tried((1, "met"), (4, "met"), (5, "mixed"), (6, "missed"))
    svg = ET.fromstring(str(capacity.draw("c", "t", loads, 4.0, 6.0, "rate, req/s", show, 900)))
    band = of_class(svg, "rect", "band")[0]
    at = {m.get("data-tip"): float(m.find("circle[@class='tap']").get("cx")) for m in of_class(svg, "g", "mark")}
    assert float(band.get("x")) == pytest.approx(at["4 met"], abs=0.2)
    assert float(band.get("x")) + float(band.get("width")) == pytest.approx(at["6 missed"], abs=0.2)


@pytest.mark.parametrize(("low", "high", "edges"), [(4.0, None, 1), (None, 4.0, 1), (4.0, 6.0, 2)])
def test_a_limit_that_was_not_found_has_no_edge(low, high, edges):
    svg = ET.fromstring(str(capacity.draw("c", "t", tried((1, "met"), (6, "missed")), low, high, "x", show, 900)))
    assert len(of_class(svg, "line", "margin")) == edges


def test_outcomes_stand_in_rows_and_the_void_row_only_where_there_are_any():
    def names(*loads):
        svg = ET.fromstring(str(capacity.draw("c", "t", tried(*loads), 1.0, 2.0, "x", show, 900)))
        return [t.text for t in of_class(svg, "text", "tick") if t.text in capacity.OUTCOMES.values()]

    assert names((1, "met")) == ["every run met", "some runs met", "no run met"]
    assert names((1, "met"), (2, "void"))[-1] == "void"


def test_parts_of_a_whole_are_as_wide_as_their_values():
    whole = parts.Whole("peak", 400, (parts.Part("a", 100, "part-1", "a"), parts.Part("b", 300, "rest", "b")))
    svg = ET.fromstring(str(parts.draw("p", "t", [whole], "memory", show, 900)))
    first, second = of_class(svg, "rect", "part")
    widths = [float(r.get("width")) + 1 for r in (first, second)]
    assert widths[1] / widths[0] == pytest.approx(3, rel=0.01)
    assert float(second.get("x")) == pytest.approx(float(first.get("x")) + widths[0], abs=0.2)


def test_a_figure_that_has_no_room_in_its_part_is_left_to_the_table():
    whole = parts.Whole("peak", 400, (parts.Part("a", 1, "part-1", "a"), parts.Part("b", 399, "rest", "b")))
    svg = ET.fromstring(str(parts.draw("p", "t", [whole], "memory", lambda v: f"{v:.0f} MB", 900)))
    assert [t.text for t in of_class(svg, "text", "on-part")] == ["399 MB"]


@pytest.mark.parametrize(("share", "width"), [(0.5, "60"), (-1, "0"), (7, "120")])
def test_the_bar_of_a_cell_stays_within_it(share, width):
    svg = ET.fromstring(str(parts.cell(share)))
    assert of_class(svg, "rect", "cell-bar")[0].get("width") == width


def test_percentiles_are_marked_with_their_limits_on_the_curve():
    samples = tuple(0.001 * i for i in range(1, 101))
    mark = latency.Percentile("p95", "choice", 0.95, 0.095, 0.09, None, "ttft_p95: 95 ms")
    svg = ET.fromstring(str(latency.draw("l", "TTFT", [latency.Curve("c", "choice", samples)], percentiles=[mark])))
    assert [m.get("data-tip") for m in of_class(svg, "g", "dot")] == ["ttft_p95: 95 ms"]
    bar = of_class(svg, "line", "limits")[0]
    assert float(bar.get("x2")) == 315  # unbounded: to the right edge
    assert len(of_class(svg, "line", "limits")) == 2
    assert any("p95" in (t.text or "") for t in of_class(svg, "text", "label"))
