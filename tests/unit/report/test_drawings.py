from dataclasses import replace

import pytest

from paredown.records.machine import Bandwidth, Ceilings
from paredown.report import drawings, rows
from paredown.report.example import view as example_view
from paredown.testing import example_run


@pytest.fixture(scope="module")
def ship():
    return example_view(example_run.ship())


def with_bandwidth(view, *pairs):
    bandwidth = tuple(Bandwidth(size * 2**20, speed * 1e9) for size, speed in pairs)
    return replace(view, ceilings=Ceilings(bandwidth, view.ceilings.matrix))


def test_a_faster_small_working_set_is_a_roof_of_its_own(ship):
    faster = drawings.roofs(with_bandwidth(ship, (512, 9), (4, 30), (64, 12))).wide
    alike = drawings.roofs(with_bandwidth(ship, (512, 9), (4, 10))).wide
    assert "4 MiB 30 GB/s" in faster.replace("\u00a0", " ")
    assert "512 MiB 9 GB/s" in faster.replace("\u00a0", " ")
    assert "4 MiB" not in alike.replace("\u00a0", " ")


def test_candidates_that_cannot_be_drawn_are_listed_with_the_stage_and_the_reason():
    view = example_view(example_run.crashed())
    size, _ = drawings.paretos(view, rows.ladder(view))
    assert size.missing == (
        "6 bitsandbytes-nf4: ended at apply (The technique could not make its artifact: no space left on the device.)",
        "7 onnx-int4: ended at speed (The engine's process ended with signal 9 after 41 of 60 requests.)",
    )


def test_nothing_is_drawn_where_nothing_was_measured():
    view = example_view(example_run.unknown())
    assert drawings.paretos(view, rows.ladder(view)) == (None, None)
    assert drawings.roofs(view) is None
    assert drawings.latencies(view) == ()


def test_a_traffic_that_only_one_of_the_two_ran_says_so(ship):
    choice = ship.choice
    shorter = replace(choice, measured=replace(choice.measured, under=choice.measured.under[:1]))
    candidates = tuple(shorter if c is choice else c for c in ship.candidates)
    _, second = drawings.latencies(replace(ship, candidates=candidates))
    assert second.traffic == "concurrent-16"
    assert second.charts[0][1] is not None
    assert second.charts[0][2] == "openvino-int8: not measured (no such trial)"


def test_the_baseline_is_in_the_size_chart_and_not_in_the_divergence_chart(ship):
    size, divergence = drawings.paretos(ship, rows.ladder(ship))
    assert ">baseline</text>" in size.wide
    assert ">baseline</text>" not in divergence.wide
