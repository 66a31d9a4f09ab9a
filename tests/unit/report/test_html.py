import base64
import hashlib
import itertools
import json
import re
from dataclasses import replace

import pytest

from paredown.report import html
from paredown.report.example import view as example_view
from paredown.testing.example_run import SCENARIOS

SECTIONS = [
    "decision", "targets", "triangle", "pareto", "ladder", "slices", "why", "latency", "roofline", "answers", "skipped",
    "record",
]  # fmt: skip


@pytest.fixture(scope="module", params=SCENARIOS)
def page(request, read_page):
    return read_page(html.render(example_view(SCENARIOS[request.param]())))


@pytest.fixture(scope="module")
def ship():
    return example_view(SCENARIOS["ship"]())


def test_every_section_is_there_in_order(page):
    assert [s["id"] for s in page.all("section")] == SECTIONS
    assert {a["href"] for a in page.all("a")} == {f"#{name}" for name in SECTIONS}


def test_headings_go_down_one_level_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_identities_are_unique_and_every_chart_has_title_and_description(page):
    identities = [a["id"] for _, a in page.elements if "id" in a]
    assert len(identities) == len(set(identities))
    for chart in page.all("svg"):
        assert chart["aria-labelledby"] in identities
        assert chart["aria-describedby"] in identities


def test_every_table_has_headers_with_a_scope(page):
    assert len(page.all("th")) > 20
    assert all(header.get("scope") in ("row", "col") for header in page.all("th"))


def test_nothing_points_outside_the_file(page):
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        assert not {"src", "srcset", "action", "data", "style"} & set(attributes), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)


def test_the_policy_allows_exactly_the_script_and_the_style_of_the_page(page):
    policy = page.all("meta")[1]["content"]
    assert page.all("meta")[1]["http-equiv"] == "Content-Security-Policy"
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    inline = {tag: text for tag, text in page.texts if tag in ("script", "style")}
    for tag, text in inline.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_page_stays_below_400_kilobytes(scenario):
    assert len(html.render(example_view(SCENARIOS[scenario]())).encode()) < 400_000


def test_the_same_view_gives_the_same_page(ship):
    assert html.render(ship) == html.render(ship)


def test_the_caution_of_the_model_stands_in_the_first_section(ship):
    text = html.render(ship)
    assert ship.model.caution in text[: text.index('id="targets"')]


@pytest.mark.parametrize(
    ("scenario", "badge"), [("ship", "SHIP"), ("nothing_meets", "TARGETS NOT MET"), ("investigate", "INVESTIGATE")]
)
def test_the_badge_says_how_the_run_ended(scenario, badge):
    text = html.render(example_view(SCENARIOS[scenario]()))
    assert re.search(rf'class="badge \w+">{badge}<', text)


def test_an_embedded_document_cannot_end_its_script(ship, read_page):
    hostile = "</script><script>alert(1)</script><!-- & \u2028"
    text = html.render(replace(ship, decision=replace(ship.decision, paragraph=hostile)))
    assert "<script>alert" not in text
    scripts = [data for tag, data in read_page(text).texts if tag == "script"]
    assert json.loads(scripts[0])["decision"]["paragraph"] == hostile


def test_a_view_without_choice_candidates_or_evidence_still_renders(ship, read_page):
    bare = replace(
        ship, candidates=(), ceilings=None, noise_floor=(), worst=(), notes=(),
        asked=replace(ship.asked, targets=(), traffic=(), golden=()),
        baseline=replace(ship.baseline, artifact=None, figures=(), under=(), placements=()),
        decision=replace(
            ship.decision, recommended=None, closest="", candidates=(), left_out=(), artifact="", serve_command=""
        ),
    )  # fmt: skip
    assert [s["id"] for s in read_page(html.render(bare)).all("section")] == SECTIONS


def test_unknown_figures_are_never_shown_as_zero():
    text = html.render(example_view(SCENARIOS["unknown"]()))
    ladder = text[text.index('id="ladder"') : text.index('id="slices"')]
    cells = re.findall(r"<td[^>]*class=\"missing\"[^>]*>([^<]*)", ladder)
    assert len(cells) >= 8 * 5
    assert all(cell.startswith("not measured (") for cell in cells)


def test_a_void_trial_is_announced_with_its_reason(ship):
    under = (replace(ship.baseline.under[0], void="requests were sent late"), *ship.baseline.under[1:])
    text = html.render(replace(ship, baseline=replace(ship.baseline, under=under)))
    assert "baseline: void, requests were sent late" in text
