"""The HTML report in a real browser: layout, interaction, and that nothing in it runs or is fetched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.report import html
from paredown.report.example import view as example_view
from paredown.report.view import AnswerView, ReportView, WorstAnswer
from paredown.testing.example_run import SCENARIOS

pytestmark = pytest.mark.browser

WIDTHS = (375, 390, 1280)
HOSTILE = "<script>window.hacked = 1; alert(1)</script>"
IMAGE = '"><img src=x onerror="window.hacked = 2">'
CLOSING = "</script><script>window.hacked = 3</script><!--"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    for name, scenario in SCENARIOS.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(html.render(example_view(scenario())), "utf-8")
    return found


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    file = tmp_path / "hostile.html"
    file.write_text(html.render(_hostile_view()), "utf-8")
    return file


def _hostile_view() -> ReportView:
    """Every text that comes from outside tries to run something."""
    view = example_view(SCENARIOS["crashed"]())
    item = GoldenItem(IMAGE, CLOSING, "exact", (Message("user", HOSTILE), Message(IMAGE, CLOSING)), HOSTILE)
    choice_item = replace(item, choices=(HOSTILE, IMAGE), answer="0")
    answer = AnswerView(HOSTILE + IMAGE + CLOSING, score=0.0)
    candidates = tuple(
        replace(
            c,
            planned=replace(c.planned, engine=IMAGE),
            verdict=replace(c.verdict, reasons=(HOSTILE + CLOSING,), error=c.verdict.error and HOSTILE),
            measured=replace(c.measured, name=f"{c.name}{IMAGE}"),
        )
        for c in view.candidates
    )
    return replace(
        view,
        model=replace(view.model, name=HOSTILE, caution=CLOSING, architecture=IMAGE),
        asked=replace(view.asked, model=IMAGE, command=HOSTILE, notes=(CLOSING,)),
        candidates=candidates,
        decision=replace(view.decision, paragraph=HOSTILE + CLOSING, artifact=IMAGE),
        worst=(WorstAnswer(IMAGE, item, AnswerView(HOSTILE), answer), WorstAnswer(IMAGE, choice_item, answer, answer)),
        record=replace(view.record, settings={HOSTILE: IMAGE}, versions={IMAGE: CLOSING}),
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_page_fits_its_window_and_loads_nothing(
    visit: Any, pages: dict[str, Path], scenario: str, width: int
) -> None:
    visit.open(pages[scenario], width=width)
    assert visit.value("innerWidth") == width
    assert visit.value("document.documentElement.scrollWidth") <= width
    assert visit.problems == []
    assert visit.requests == [pages[scenario].resolve().as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_label_of_a_chart_covers_another_or_is_clipped(
    visit: Any, pages: dict[str, Path], scenario: str, width: int
) -> None:
    visit.open(pages[scenario], width=width)
    assert visit.overlapping_labels() == []
    assert visit.clipped_labels() == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scenario", ["ship", "unknown"])
def test_with_every_fold_open_the_page_still_fits(
    visit: Any, pages: dict[str, Path], scenario: str, width: int
) -> None:
    visit.open(pages[scenario], width=width)
    visit.value("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert visit.value("document.documentElement.scrollWidth") <= width
    assert visit.overlapping_labels() == []
    assert visit.poor_contrasts() == []


def test_the_explanation_is_folded_until_it_is_asked_for(visit: Any, pages: dict[str, Path]) -> None:
    visit.open(pages["ship"])
    assert visit.value("document.querySelectorAll('#why details').length") > 5
    assert visit.value("document.querySelectorAll('#why details[open]').length") == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("scenario", ["ship", "nothing_meets", "unknown"])
def test_every_text_stands_out_from_its_ground(visit: Any, pages: dict[str, Path], scenario: str, dark: bool) -> None:
    visit.open(pages[scenario], dark=dark)
    assert visit.poor_contrasts() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_text_stays_text(visit: Any, hostile: Path, width: int) -> None:
    visit.open(hostile, width=width)
    assert visit.value("typeof window.hacked") == "undefined"
    assert visit.problems == []
    assert visit.requests == [hostile.resolve().as_uri()]
    assert visit.value("document.querySelectorAll('img').length") == 0
    assert HOSTILE in visit.value("document.querySelector('#answers .expected').innerText")
    assert HOSTILE in visit.value("document.querySelector('#answers .answer').innerText")
    assert HOSTILE in visit.value("document.querySelector('#decision .paragraph').innerText")
    assert visit.value("document.documentElement.scrollWidth") <= width


def test_a_script_that_got_in_anyway_is_refused_by_the_policy(visit: Any, pages: dict[str, Path]) -> None:
    visit.open(pages["ship"])
    visit.value(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 4';"
        "document.body.append(s); const d = document.createElement('div'); d.innerHTML ="
        "'<b onclick=\"window.hacked = 5\">b</b>'; document.body.append(d); d.firstChild.click(); })()"
    )
    assert visit.value("typeof window.hacked") == "undefined"


def test_the_theme_follows_the_system_until_it_is_chosen(visit: Any, pages: dict[str, Path]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    visit.open(pages["ship"], dark=True)
    visit.value("localStorage.clear()")
    visit.open(pages["ship"], dark=True)
    dark = visit.value(ground)
    visit.open(pages["ship"], dark=False)
    light = visit.value(ground)
    assert dark != light
    visit.click("#theme")
    assert (visit.value("document.documentElement.dataset.theme"), visit.value(ground)) == ("light", light)
    visit.click("#theme")
    assert (visit.value("document.documentElement.dataset.theme"), visit.value(ground)) == ("dark", dark)
    assert visit.value("document.getElementById('theme').getAttribute('aria-label')") == "Colour theme: dark"
    visit.click("#theme")
    assert visit.value(ground) == light


@pytest.mark.parametrize("width", WIDTHS)
def test_a_point_shows_its_figures_when_it_is_tapped(visit: Any, pages: dict[str, Path], width: int) -> None:
    visit.open(pages["ship"], width=width)
    assert visit.value("document.getElementById('tip').hidden") is True
    shown = "wide" if width > 600 else "narrow"
    visit.click(f"#pareto .{shown} .mark:last-of-type")
    assert visit.value("document.getElementById('tip').hidden") is False
    assert "openvino-int8 · SHIP" in visit.value("document.getElementById('tip').textContent")
    box = visit.value("(r => [r.left, r.right])(document.getElementById('tip').getBoundingClientRect())")
    assert box[0] >= 0
    assert box[1] <= width


def test_the_ladder_sorts_by_a_heading_and_unknown_stays_last(visit: Any, pages: dict[str, Path]) -> None:
    visit.open(pages["crashed"])
    names = "[...document.querySelectorAll('.ladder tbody th')].map(h => h.dataset.sort)"
    visit.click(".ladder thead th:nth-child(4) button")
    rising = visit.value(names)
    visit.click(".ladder thead th:nth-child(4) button")
    falling = visit.value(names)
    assert rising[0] == "bitsandbytes-int8"
    assert falling[0] == "openvino-int4"
    assert set(rising[-2:]) == set(falling[-2:]) == {"bitsandbytes-nf4", "onnx-int4"}
    assert visit.value("document.querySelector('.ladder thead th:nth-child(4)').ariaSort") == "descending"


def _choose(visit: Any, select: str, value: str) -> None:
    visit.value(
        f"(() => {{ const s = document.getElementById('{select}'); s.value = '{value}';"
        "s.dispatchEvent(new Event('change')); })()"
    )


def test_worst_answers_are_filtered_by_slice_and_candidate(visit: Any, tmp_path: Path) -> None:
    view = example_view(SCENARIOS["ship"]())
    others = tuple(replace(worst, candidate="onnx-int8") for worst in view.worst)
    file = tmp_path / "two.html"
    file.write_text(html.render(replace(view, worst=view.worst + others)), "utf-8")
    shown = "[...document.querySelectorAll('article.pair')].filter(p => p.getClientRects().length)"
    visit.open(file)
    assert visit.value(f"{shown}.length") == 6
    _choose(visit, "slice-filter", "tool calls")
    assert visit.value(f"{shown}.map(p => p.dataset.slice)") == ["tool calls", "tool calls"]
    _choose(visit, "candidate-filter", "onnx-int8")
    assert visit.value(f"{shown}.map(p => p.dataset.candidate)") == ["onnx-int8"]
    assert visit.value("document.getElementById('shown').textContent") == "1 shown"


@pytest.mark.parametrize("width", WIDTHS)
def test_names_without_a_place_to_break_do_not_widen_the_page(visit: Any, tmp_path: Path, width: int) -> None:
    view = example_view(SCENARIOS["many"]())
    long = "a_name_without_any_place_to_break_it_" * 6
    chosen = view.choice
    assert chosen is not None
    renamed = replace(
        chosen,
        planned=replace(chosen.planned, name=long, engine=long, adjustments=(long,)),
        verdict=replace(chosen.verdict, candidate=long, reasons=(long,)),
        measured=replace(chosen.measured, name=long),
    )
    file = tmp_path / "long.html"
    wide = replace(
        view,
        model=replace(view.model, name=long, caution=long),
        candidates=tuple(renamed if c is chosen else c for c in view.candidates),
        decision=replace(view.decision, recommended=long, paragraph=long, artifact=long, serve_command=long),
        notes=(long,),
    )
    file.write_text(html.render(wide), "utf-8")
    visit.open(file, width=width)
    assert visit.value("document.documentElement.scrollWidth") <= width
    assert visit.overlapping_labels() == []


def test_a_printed_page_is_light_and_has_no_navigation(visit: Any, pages: dict[str, Path]) -> None:
    visit.open(pages["ship"], dark=True)
    visit.media("print")
    assert visit.value("getComputedStyle(document.querySelector('header nav')).display") == "none"
    assert visit.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert visit.value("getComputedStyle(document.body).color") == "rgb(22, 32, 44)"
    visit.media("")
