"""What others did to the machine meanwhile, and what the counters say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from paredown.machine.cgroup import Throttled
from paredown.measure import energy
from paredown.measure.background import Busy, background_load, read_busy, throttling_note


def test_background_is_what_is_busy_and_not_ours() -> None:
    before, after = Busy(1000, 100, 50, None), Busy(1200, 260, 150, None)

    assert background_load(before, after) == pytest.approx((160 - 100) / 200)


def test_background_that_is_not_known_is_none() -> None:
    busy = Busy(1000, 100, 50, None)

    assert background_load(None, busy) is None
    assert background_load(busy, busy) is None


def test_throttling_is_said_only_when_it_happened() -> None:
    assert throttling_note(Busy(1, 1, 1, 3), Busy(2, 2, 2, 5)) == "the processor was throttled for heat 2 times"
    assert throttling_note(Busy(1, 1, 1, 3), Busy(2, 2, 2, 3)) == ""
    assert throttling_note(Busy(1, 1, 1, None), Busy(2, 2, 2, None)) == ""


def test_a_quota_that_stopped_the_container_is_told_with_its_time() -> None:
    before, after = Busy(1, 1, 1, None, quota=Throttled(4, 100_000)), Busy(9, 9, 9, None, quota=Throttled(7, 1_350_000))

    assert throttling_note(before, after) == "the container's CPU quota stopped it in 3 periods, 1.25 s in all"
    assert throttling_note(before, before) == ""


@pytest.mark.parametrize(("stolen", "told"), [(2, False), (3, True)])
def test_time_given_to_other_machines_is_told_from_two_percent_on(stolen: int, told: bool) -> None:
    note = throttling_note(Busy(0, 0, 0, None, 50), Busy(100, 50, 10, None, 50 + stolen))

    assert ("other machines" in note) is told


@pytest.mark.parametrize(("end_khz", "told"), [(2_800_000, False), (2_600_000, True)])
def test_a_clock_that_fell_by_a_tenth_is_told(end_khz: int, told: bool) -> None:
    before, after = (Busy(1, 1, 1, None, frequency_khz=khz) for khz in (3_000_000, end_khz))

    assert ("2.60 GHz at the end and at 3.00 GHz at the beginning" in throttling_note(before, after)) is told


def test_everything_that_was_seen_is_told() -> None:
    before = Busy(0, 0, 0, 1, 0, Throttled(0, 0), 3_000_000)
    after = Busy(100, 80, 10, 2, 9, Throttled(1, 20_000), 2_000_000)

    assert len(throttling_note(before, after).split("; ")) == 4


def test_steal_and_frequency_are_read_from_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  10 1 5 80 4 0 0 7 0 0\n")
    for core, khz in enumerate((2_000_000, 3_100_000)):
        place = tmp_path / f"cpu{core}" / "cpufreq"
        place.mkdir(parents=True)
        (place / "scaling_cur_freq").write_text(f"{khz}\n")
    found = read_busy([], tmp_path, tmp_path)

    assert found is not None
    assert (found.steal_ticks, found.frequency_khz, found.all_busy_ticks) == (7, 3_100_000, 23)


def test_ticks_are_read_from_the_kernel_tables(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  10 1 5 80 4 0 0 0 0 0\ncpu0 1 1 1 1\n")
    for pid in (os.getpid(), 7):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a b) S 1 1 1 0 -1 0 0 0 0 0 3 2 0 0 20 0")

    assert read_busy([7], tmp_path, tmp_path) == Busy(100, 16, 10, None)
    assert read_busy([7], tmp_path / "nothing", tmp_path) is None


@dataclass
class Counter:
    source: str = "test counter"
    wraps_at_joules: float | None = None

    def read_joules(self) -> float:
        return 0.0


def test_energy_is_the_difference_of_all_counters() -> None:
    counters = [Counter(), Counter()]
    found = energy.between(counters, energy.EnergyReading(0, (10.0, 1.0)), energy.EnergyReading(6 * 10**9, (25.0, 4.0)))

    assert (found.joules, found.seconds, found.missing) == (18.0, 6.0, "")


def test_without_a_counter_energy_is_not_measured() -> None:
    found = energy.between([], energy.EnergyReading(0, ()), energy.EnergyReading(10**10, ()))

    assert found.joules is None
    assert "no energy counter" in found.missing


def test_a_span_below_five_seconds_is_not_measured() -> None:
    found = energy.between([Counter()], energy.EnergyReading(0, (0.0,)), energy.EnergyReading(4 * 10**9, (9.0,)))

    assert found.joules is None
    assert "4.0 s" in found.missing
