import itertools
import re
from dataclasses import replace

import pytest

from paredown.records.figure import Figure
from paredown.records.measurement import Curve, Measurement
from paredown.report import measurement
from paredown.testing import example_measurement
from paredown.testing.every_text import changed

HOSTILE = "</td></script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
NAMES_OF_OURS = ("metric", "statistic", "unit", "name", "phase", "axis", "load_shape")
EVERY_SECTION = [
    "headline", "traffic", "curve-0", "curve-1", "curve-2", "curve-3", "capacity", "memory", "roofline", "operators",
    "traces", "setting",
]  # fmt: skip


@pytest.fixture(scope="module")
def text(everything):
    return measurement.html(everything)


@pytest.fixture(scope="module")
def page(text, read_page):
    return read_page(text)


def sections(page):
    return [section["id"] for section in page.all("section")]


def linked(page):
    """Sections that the navigation names."""
    return [a["href"].removeprefix("#") for a in page.all("a")][1:]


def test_every_section_is_there_and_in_the_navigation(page):
    assert sections(page) == EVERY_SECTION
    assert linked(page) == EVERY_SECTION


def test_only_sections_with_content_are_there(minimal, read_page):
    page = read_page(measurement.html(minimal))
    assert sections(page) == linked(page) == ["headline", "traffic", "setting"]


def test_a_profile_alone_has_no_traffic_section(everything, read_page):
    alone = replace(everything, traffics=(), curves=(), capacities=())
    page = read_page(measurement.html(alone))
    assert sections(page) == linked(page) == ["headline", "roofline", "operators", "traces", "setting"]


def test_a_measurement_of_nothing_says_so(read_page):
    empty = Measurement("m", "e", "2026-11-30", None, {}, "")
    text = measurement.html(empty)
    assert sections(read_page(text)) == ["headline", "setting"]
    assert "NOTHING MEASURED" in text


def test_headings_go_down_one_level_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_identities_are_unique_and_every_chart_has_title_and_description(page):
    identities = [a["id"] for _, a in page.elements if "id" in a]
    assert len(identities) == len(set(identities))
    charts = [chart for chart in page.all("svg") if chart.get("aria-hidden") != "true"]
    assert len(charts) > 20
    assert all({chart["aria-labelledby"], chart["aria-describedby"]} <= set(identities) for chart in charts)


def test_every_table_has_a_caption_and_headers_with_a_scope(page):
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(header.get("scope") in ("row", "col") for header in page.all("th"))


def test_nothing_points_outside_the_file(page):
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        assert not {"src", "srcset", "action", "data", "style"} & set(attributes), (tag, attributes)


@pytest.mark.parametrize("keep", [NAMES_OF_OURS, ()], ids=["texts", "everything"])
def test_markup_in_any_text_stays_text(everything, read_page, keep):
    page = read_page(measurement.html(changed(everything, lambda text: text + HOSTILE if text else text, keep)))
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not page.all("img")
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    shown = "".join(data for _, data in page.texts)
    for outside in (everything.subject, everything.traffics[0].summary, everything.profile.traces[0]):
        assert outside + HOSTILE in shown


def test_what_is_void_or_failed_is_said_before_the_first_figure(text, everything):
    first = text[: text.index('class="tiles"')]
    assert "PARTLY VOID" in first
    assert f"bursts is void and its figures may not be used: {everything.traffics[2].void}" in first
    assert "5 of 300 requests failed (3 status_429, 2 timeout)" in first
    assert everything.cautions[0] in first


def test_the_headline_shows_the_first_traffic_that_is_not_void(everything):
    void_first = replace(everything, traffics=everything.traffics[::-1])
    assert "<h2>Under steady</h2>" in measurement.html(void_first)


def test_every_measured_figure_has_its_interval_and_count_beside_it(text, read_page):
    rows = re.findall(r"<tr><th scope=\"row\"><code>ttft_p95</code></th>(.*?)</tr>", text, re.DOTALL)
    assert "90\u00a0%\u00a0[99.2,\u00a0111]\u00a0ms" in rows[0]
    assert "<td>60</td>" in rows[0]


def test_what_was_not_measured_is_listed_with_its_reason_and_never_as_zero(minimal):
    text = measurement.html(minimal)
    listed = text[text.index("<h4>Not measured</h4>") :]
    assert "the server runs on another machine" in listed
    assert "<code>peak_memory</code>, <code>weights_memory</code>" in listed
    tile = text[text.index("<h3>Peak memory</h3>") :][:200]
    assert "not measured" in tile


def test_a_curve_without_points_says_that_nothing_was_measured(everything):
    told = "the server does not say how many positions its cache holds"
    empty = Curve("kv_pressure", "positions", "fraction", (), (told,))
    text = measurement.html(replace(everything, curves=(empty,)))
    assert told in text
    assert "Nothing was measured along this axis" in text


def test_definitions_are_those_of_the_metrics_that_occur(text, minimal):
    assert "c_1 − t_sched" in text
    one = replace(minimal.traffics[0], figures=(Figure("e2e", "s", 1.0, 5, "p50"),))
    listed = measurement.html(replace(minimal, traffics=(one,)))
    listed = listed[listed.index("What each figure is") :]
    assert "<code>e2e</code>" in listed
    assert "<code>ttft</code>" not in listed


def test_traces_say_how_to_open_them_and_that_nothing_is_uploaded(text):
    part = text[text.index('id="traces"') :]
    assert "ui.perfetto.dev" in part
    assert "nothing is uploaded unless" in part
    assert "<code>nsys</code>: this machine has no NVIDIA GPU" in part


def test_the_same_measurement_gives_the_same_page(text):
    assert measurement.html(example_measurement.everything()) == text


def test_the_page_stays_below_half_a_megabyte(text):
    assert len(text.encode()) < 500_000
