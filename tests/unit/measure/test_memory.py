"""Memory of a process tree, from a /proc that was written by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paredown.measure import memory
from paredown.measure.memory import KvPart, MemorySample, MemorySampler, growth_bytes, summarize
from paredown.records.events import KV_CACHE_NOTE, Memory
from paredown.stats.memory_figures import ACTIVATIONS_NOTE

MB = 1 << 20
NO_KV = KvPart(None, None, "no long answer")


def process(proc: Path, pid: int, parent: int, pss_kb: int = 0, libraries_kb: int = 0, peak_kb: int = 0) -> None:
    directory = proc / str(pid)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "stat").write_text(f"{pid} (a (b) c) S {parent} 1 1 0 -1 0 0 0 0 0 70 30 0 0 20 0")
    (directory / "smaps_rollup").write_text(f"00-ff ---p 00000000 00:00 0 [rollup]\nRss: 999999 kB\nPss: {pss_kb} kB\n")
    (directory / "smaps").write_text(
        f"7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libm.so.6\nSize: 8 kB\nPss: {libraries_kb} kB\n"
        "7f02-7f03 r--p 00000000 08:01 13 /models/model.safetensors\nPss: 500 kB\nPss_Dirty: 7 kB\n"
        "7f04-7f05 rw-p 00000000 00:00 0\nPss: 40 kB\n"
    )
    (directory / "status").write_text(f"Name: x\nVmHWM:\t{peak_kb} kB\nVmRSS: 1 kB\n")


def test_the_tree_holds_children_and_theirs_and_nobody_elses(tmp_path: Path) -> None:
    for pid, parent in ((2, 1), (3, 2), (4, 2), (5, 4), (9, 8)):
        process(tmp_path, pid, parent)

    assert set(memory.descendants(2, tmp_path)) == {3, 4, 5}


def test_pss_is_read_from_the_rollup_and_missing_when_the_process_is_gone(tmp_path: Path) -> None:
    process(tmp_path, 3, 1, pss_kb=1000)

    assert memory.pss_bytes(3, tmp_path) == 1000 * 1024
    assert memory.pss_bytes(4, tmp_path) is None


def test_only_shared_libraries_count_as_library(tmp_path: Path) -> None:
    process(tmp_path, 3, 1, libraries_kb=64)

    assert memory.library_bytes(3, tmp_path) == 64 * 1024


def test_high_water_marks_add_up_and_none_is_not_zero(tmp_path: Path) -> None:
    process(tmp_path, 3, 1, peak_kb=10)
    process(tmp_path, 4, 1, peak_kb=20)

    assert memory.high_water_bytes([3, 4, 5], tmp_path) == 30 * 1024
    assert memory.high_water_bytes([5], tmp_path) is None


def test_the_sampler_sees_what_was_started_after_it_and_leaves_out_what_was_there(tmp_path: Path) -> None:
    process(tmp_path, 2, 1, pss_kb=777)
    sampler = MemorySampler(proc=tmp_path, root_process=1)
    assert sampler.sample() is None
    process(tmp_path, 3, 1, pss_kb=100, libraries_kb=10)
    process(tmp_path, 4, 3, pss_kb=50, libraries_kb=0)
    taken = sampler.sample()

    assert taken is not None
    assert taken.pss_bytes == {3: 102_400, 4: 51_200}
    assert taken.data_bytes == {3: 92_160, 4: 51_200}


def sample(at_ns: int, megabytes: float, data: float | None = None) -> MemorySample:
    return MemorySample(at_ns, {7: round(megabytes * MB)}, None if data is None else {7: round(data * MB)})


def test_weights_are_the_growth_while_loading_without_libraries() -> None:
    loaded = sample(2, 480, data=300)
    found = summarize(
        [sample(0, 20, data=10), sample(1, 600), loaded, sample(10**9, 500)],
        [7],
        loaded=loaded,
        high_water_bytes=None,
        kv=NO_KV,
    )

    assert found is not None
    assert (found.before_load_bytes, found.after_load_bytes) == (20 * MB, 480 * MB)
    assert (found.weights_bytes, found.peak_bytes, found.samples) == (290 * MB, 600 * MB, 4)
    assert found.sample_period_ms == 333
    assert found.kv_cache_bytes is None
    assert found.note_on(KV_CACHE_NOTE) == "not separated, no long answer"


def worked(peak: float, kv: KvPart) -> Memory:
    """Before loading 20 MB, while loading 900 MB at most, loaded 480 MB, then a peak of work."""
    loaded = sample(2, 480, data=300)
    found = summarize(
        [sample(0, 20, data=10), sample(1, 900), loaded, sample(3, peak), sample(4, 490)],
        [7],
        loaded=loaded,
        high_water_bytes=None,
        kv=kv,
    )
    assert found is not None
    return found


def test_activations_are_the_peak_of_the_work_beyond_the_loaded_model_and_the_cache() -> None:
    found = worked(600, KvPart(50 * MB, 23_040.0, "the engine's own count"))

    assert found.activations_bytes == (600 - 480 - 50) * MB  # the peak while loading is not the work's
    assert (found.kv_cache_bytes, found.kv_bytes_per_token) == (50 * MB, 23_040.0)
    assert found.note_on(KV_CACHE_NOTE) == "the engine's own count"
    assert found.note_on(ACTIVATIONS_NOTE).startswith("peak of the work less")


@pytest.mark.parametrize(
    ("kv", "words"),
    [(NO_KV, "not separated from the KV cache"), (KvPart(200 * MB, 1.0, ""), "held before")],
)
def test_activations_that_cannot_be_told_are_none_and_not_zero(kv: KvPart, words: str) -> None:
    found = worked(600, kv)

    assert found.activations_bytes is None
    assert words in found.note_on(ACTIVATIONS_NOTE)


def test_a_process_that_was_seen_only_after_loading_has_no_weights_part() -> None:
    late = sample(0, 480, data=300)
    found = summarize([late], [7], loaded=late, high_water_bytes=5, kv=NO_KV)

    assert found is not None
    assert found.weights_bytes is None
    assert "not seen before" in found.note


def test_an_engine_without_a_process_of_ours_has_no_memory() -> None:
    assert summarize([sample(0, 20)], [], loaded=None, high_water_bytes=None, kv=NO_KV) is None


def test_steady_growth_is_told_over_the_whole_span() -> None:
    samples = [sample(t, 100 + 2 * t) for t in range(11)]

    assert growth_bytes(samples, [7], 0, 20) == 40 * MB


@pytest.mark.parametrize(
    "megabytes",
    [[100, 102, 104], [100] * 8, [110, 108, 106, 104, 102], [100, 140, 95, 143, 91, 141, 99]],
    ids=["three samples", "no growth", "shrinking", "noise"],
)
def test_growth_that_cannot_be_told_is_none(megabytes: list[float]) -> None:
    assert growth_bytes([sample(t, mb) for t, mb in enumerate(megabytes)], [7], 0, 100) is None


def test_this_process_can_be_read() -> None:
    found = memory.pss_bytes(os.getpid())

    assert found is None or found > MB
