"""The engine's stamps beside the arrival of its chunks."""

from __future__ import annotations

import pytest

from paredown.measure.overhead import serving_overhead
from paredown.testing.scripted_events import block, request, trial


def test_kept_speed_is_the_engines_time_over_the_time_served() -> None:
    measured = trial(block(request([11, 22, 33], engine_ms=[10, 20, 30])))
    found = serving_overhead(measured)

    assert found is not None
    assert (found.engine_tpot_s, found.served_tpot_s) == (pytest.approx(0.010), pytest.approx(0.011))
    assert found.kept_speed == pytest.approx(10 / 11)
    assert found.delivery_p50_s == pytest.approx(0.002)
    assert (found.requests, found.chunks) == (1, 3)


def test_a_server_without_stamps_has_no_overhead_figure() -> None:
    assert serving_overhead(trial(block(request([11, 22])))) is None
