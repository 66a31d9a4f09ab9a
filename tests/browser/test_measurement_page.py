"""The page of a measurement in a real browser: layout, accessibility, and that nothing in it runs or is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paredown.report import measurement
from paredown.testing import example_measurement
from paredown.testing.every_text import changed

pytestmark = pytest.mark.browser

WIDTHS = (390, 1280)
EXAMPLES = {"everything": example_measurement.everything, "minimal": example_measurement.minimal}
HOSTILE = '</td></script><script>window.hacked = 1</script>"><img src=x onerror="window.hacked = 2">'
NAMES_OF_OURS = ("metric", "statistic", "unit", "name", "phase", "axis", "load_shape")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("measurements")
    found = {}
    for name, example in EXAMPLES.items():
        found[name] = folder / f"measurement-{name}.html"
        found[name].write_text(measurement.html(example()), "utf-8")
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_fits_its_window_and_loads_nothing(visit: Any, pages: dict[str, Path], name: str, width: int) -> None:
    visit.open(pages[name], width=width)
    assert visit.value("innerWidth") == width
    assert visit.value("document.documentElement.scrollWidth") <= width
    assert visit.problems == []
    assert visit.requests == [pages[name].resolve().as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_label_of_a_chart_covers_another_or_is_clipped(visit: Any, pages: dict[str, Path], width: int) -> None:
    visit.open(pages["everything"], width=width)
    assert visit.overlapping_labels() == []
    assert visit.clipped_labels() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_text_stands_out_from_its_ground(visit: Any, pages: dict[str, Path], name: str, dark: bool) -> None:
    visit.open(pages[name], dark=dark)
    assert visit.poor_contrasts() == []


def test_charts_are_told_to_screen_readers_and_tables_have_heads(visit: Any, pages: dict[str, Path]) -> None:
    visit.open(pages["everything"])
    assert visit.value("document.querySelectorAll('svg.chart').length") > 20
    told = "s => s.querySelector('title').textContent && s.querySelector('desc').textContent.length > 20"
    assert visit.value(f"[...document.querySelectorAll('svg.chart')].every({told})") is True
    assert visit.value("[...document.querySelectorAll('table')].every(t => t.caption && t.querySelector('th'))") is True
    assert visit.value("[...document.querySelectorAll('th')].every(h => h.scope)") is True


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("keep", [NAMES_OF_OURS, ()], ids=["texts", "everything"])
def test_hostile_text_stays_text(visit: Any, tmp_path: Path, width: int, keep: tuple[str, ...]) -> None:
    hostile = changed(example_measurement.everything(), lambda text: text + HOSTILE if text else text, keep)
    file = tmp_path / "hostile.html"
    file.write_text(measurement.html(hostile), "utf-8")
    visit.open(file, width=width)
    assert visit.value("typeof window.hacked") == "undefined"
    assert visit.value("document.querySelectorAll('img').length") == 0
    assert visit.problems == []
    assert visit.requests == [file.resolve().as_uri()]
    assert HOSTILE in visit.value("document.querySelector('#headline h1').innerText")
    assert visit.value("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_names_without_a_place_to_break_do_not_widen_the_page(visit: Any, tmp_path: Path, width: int) -> None:
    long = "a_name_without_any_place_to_break_it_" * 5
    wide = changed(example_measurement.everything(), lambda text: text + long if text else text, NAMES_OF_OURS)
    file = tmp_path / "long.html"
    file.write_text(measurement.html(wide), "utf-8")
    visit.open(file, width=width)
    assert visit.value("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_a_bar_of_the_timeline_tells_its_times_when_it_is_tapped(
    visit: Any, pages: dict[str, Path], width: int
) -> None:
    visit.open(pages["everything"], width=width)
    shown = "wide" if width > 600 else "narrow"
    visit.click(f"#traffic .{shown} .mark.bar:nth-of-type(9) > :first-child")
    assert visit.value("document.getElementById('tip').hidden") is False
    assert "first token" in visit.value("document.getElementById('tip').textContent")


def test_what_is_void_is_seen_without_scrolling(visit: Any, pages: dict[str, Path]) -> None:
    visit.open(pages["everything"])
    assert visit.value("document.querySelector('.badge').textContent") == "PARTLY VOID"
    assert visit.value("document.querySelector('#headline .caution').getBoundingClientRect().bottom < innerHeight")
    assert "requests were sent late" in visit.value("document.querySelector('#headline .caution').innerText")
