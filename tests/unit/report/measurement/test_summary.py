from dataclasses import replace

import pytest

from paredown.report import measurement
from paredown.testing.every_text import changed

HOSTILE = "<script>alert(1)</script> | [x](javascript:y)\n# heading"


@pytest.fixture(scope="module")
def text(everything):
    return measurement.markdown(everything)


def test_the_headline_comes_first_and_says_what_is_void(text):
    head = text[: text.index("## Traffic")]
    assert head.startswith("# PARTLY VOID: demo on transformers\n")
    assert "bursts is void" in head
    assert "**Bottleneck.** Decode at batch 1" in head
    assert "**Capacity.** It carries at least 4.5 requests/s" in head


def test_every_row_of_a_table_has_as_many_cells_as_its_head(text):
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) <= 1


def test_each_part_that_was_found_has_a_heading(text):
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == [
        "## Traffic", "## Load", "## Context length", "## KV pressure", "## Prefix cache",
        "## Capacity: request rate between 4.5 and 6 req/s", "## Capacity: concurrency at least 16 in flight",
        "## Memory", "## Where the time goes", "## Record",
    ]  # fmt: skip


def test_a_void_traffic_shows_no_figure(text):
    (row,) = [line for line in text.splitlines() if line.startswith("| bursts ")]
    assert row == "| bursts |" + " void |" * 6


def test_what_was_not_measured_is_listed_with_its_reason(minimal):
    assert "not measured: `energy` (no energy counter on this machine)" in measurement.markdown(minimal)


def test_markup_in_any_text_is_escaped(everything):
    kept = ("metric", "statistic", "unit", "name", "axis", "load_shape")
    text = measurement.markdown(changed(everything, lambda t: t + HOSTILE if t else t, kept))
    outside_code = "\n".join(part for i, part in enumerate(text.split("`")) if i % 2 == 0)
    assert "<script>" not in outside_code
    assert "\n# heading" not in text


def test_a_curve_without_points_says_so(everything):
    empty = replace(everything.curves[2], points=())
    assert "Nothing was measured." in measurement.markdown(replace(everything, curves=(empty,)))
