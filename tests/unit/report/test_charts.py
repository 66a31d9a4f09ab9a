from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.report.charts import canvas, forest, labels, latency, pareto, roofline, triangle


def point(number, x, y, verdict="SHIP", chosen=False):
    return pareto.Point(str(number), f"candidate-{number}", x, y, None, None, verdict, chosen, f"tip {number}")


SIZE = pareto.Axis("weights", lambda v: f"{v:g}")
SPEED = pareto.Axis("speed", lambda v: f"{v:g}")


def test_text_and_attributes_are_escaped():
    drawn = str(canvas.tag("text", "<script>", data_tip='"><b>'))
    assert "<script>" not in drawn
    assert "<b>" not in drawn
    assert ET.fromstring(drawn).get("data-tip") == '"><b>'


def test_a_logarithmic_scale_maps_equal_factors_to_equal_steps():
    scale = canvas.Scale(1, 100, 0, 200, log=True)
    assert [scale(v) for v in (1, 10, 100)] == pytest.approx([0, 100, 200])


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 9))
def test_linear_ticks_are_inside_and_few(low, width, most):
    ticks = canvas.Scale(low, low + width, 0, 1).ticks(most)
    assert len(ticks) <= most
    assert all(low - width * 1e-6 <= tick <= low + width * (1 + 1e-6) for tick in ticks)


@given(st.floats(1e-6, 1e3), st.floats(3, 1e9), st.integers(4, 9))
def test_logarithmic_ticks_are_inside_and_few(low, factor, most):
    ticks = canvas.Scale(low, low * factor, 0, 1, log=True).ticks(most)
    assert 1 <= len(ticks) <= most
    assert all(low * 0.999 <= tick <= low * factor * 1.001 for tick in ticks)


def test_the_frontier_is_what_no_other_point_beats():
    points = [point(1, 0.5, 3.6), point(2, 0.56, 4.0), point(3, 0.6, 0.3), point(4, 0.4, 5.0), point(5, 0.35, 4.9)]
    assert [p.number for p in pareto.frontier(points)] == ["5", "4"]


@given(st.lists(st.tuples(st.floats(60, 460), st.floats(60, 300)), min_size=1, max_size=7, unique=True))
def test_labels_of_scattered_points_do_not_cover_each_other(places):
    area = labels.Box(40, 30, 500, 340)
    anchors = [labels.Anchor(x, y, f"{i} name", str(i)) for i, (x, y) in enumerate(places)]
    placed = labels.place(anchors, area)
    assert all(label.box.inside(area) for label in placed)
    assert sum(a.box.overlap(b.box) for a, b in combinations(placed, 2)) == 0


def test_a_label_away_from_its_point_gets_a_line_to_it():
    blocked = [labels.Box(120, 120, 280, 280)]
    anchor = labels.Anchor(200, 200, "name")
    (label,) = labels.place([anchor], labels.Box(0, 0, 400, 400), blocked)
    assert label.leader
    assert "leader" in labels.drawn([anchor], [label], ["label"])


def test_a_candidate_without_divergence_stands_at_zero_on_the_left_edge():
    chart = pareto.draw(
        "p", "t", [point(1, 0.0, 1.4), point(2, 0.01, 3)], pareto.Axis("KL", str, log=True), SPEED, 520, 380
    )
    ticks = [t.text for t in ET.fromstring(str(chart)).iter("text") if t.get("class") == "tick"]
    assert "0" in ticks


@pytest.mark.parametrize("width", [327.0, 520.0])
def test_a_pareto_chart_marks_the_choice_and_describes_itself(width):
    chart = ET.fromstring(
        str(pareto.draw("p", "Speed", [point(1, 0.5, 2, chosen=True), point(2, 0.6, 1)], SIZE, SPEED, width, 380))
    )
    assert chart.get("role") == "img"
    assert chart.find("title").text == "Speed"
    assert "candidate-1" in chart.find("desc").text
    assert len([c for c in chart.iter("circle") if c.get("class") == "ring"]) == 1


def test_an_unbounded_interval_reaches_the_edge_of_the_forest_plot_without_a_cap():
    def row(high):
        return forest.Row("s", True, 0.03, 0.01, 0.0, high, "INVESTIGATE", "", "tip")

    def lines(chart):
        return [e for e in ET.fromstring(str(chart)).iter("line") if e.get("class") == "interval investigate"]

    bounded, unbounded = (lines(forest.draw("f", "t", [row(high)], 1000)) for high in (0.02, None))
    assert len(bounded) == 3
    assert len(unbounded) == 2
    assert max(float(e.get("x2")) for e in unbounded) == 790


def test_a_slice_that_was_not_measured_has_its_reason_instead_of_a_bar():
    row = forest.Row("s", True, 0.03, None, None, None, "INVESTIGATE", "", "tip", "not measured (no scores)")
    assert "not measured (no scores)" in forest.draw("f", "t", [row], 1000)


def test_a_distribution_reaches_one_half_at_its_median():
    seconds = tuple((i + 1) / 1000 for i in range(1001))
    across, up = canvas.Scale(0.0005, 2, 0, 1000, log=True), canvas.Scale(0, 1, 100, 0)
    steps = latency._steps(seconds, across, up)
    below = [y for x, y in steps if x <= across(latency.median(seconds))]
    assert min(below) == pytest.approx(50, abs=100 / latency.MOST_STEPS)
    assert len(steps) <= 2 * (latency.MOST_STEPS + 2) + 2


def test_the_last_step_of_a_distribution_is_its_largest_sample():
    steps = latency._steps((0.5, 0.1, 0.9), canvas.Scale(0.05, 1, 0, 100, log=True), canvas.Scale(0, 1, 100, 0))
    assert steps[-2] == pytest.approx((canvas.Scale(0.05, 1, 0, 100, log=True)(0.9), 0))


@pytest.mark.parametrize("roofs", [[roofline.Roof("memory", slope=1e10)], [roofline.Roof("int8", flat=1e11)]])
def test_a_roofline_is_drawn_from_one_kind_of_ceiling_too(roofs):
    spot = roofline.Spot("decode", 1.0, 5e9, "circle", "base", "tip")
    assert "decode" in roofline.draw("r", "t", roofs, [spot], 640, 380)


def test_an_unknown_corner_of_the_triangle_has_no_point():
    corners = [
        triangle.Corner("Speed", 3.6, "3.6×", "a"),
        triangle.Corner("Cost", None, "", "b"),
        triangle.Corner("Quality", 0.99, "99 %", "c"),
    ]
    chart = triangle.draw("t", "t", corners)
    assert chart.count('class="mark circle choice"') == 2
    assert "not measured" in chart


def test_a_long_name_is_cut_in_its_middle():
    assert canvas.shorten("openvino-int8-group-64", 80) == "openv…p-64"
