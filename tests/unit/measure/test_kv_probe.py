"""The growth of memory while one answer is decoded, from samples of a /proc that was written by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

from paredown.measure.kv_probe import probe_kv_cache
from paredown.measure.memory import MemorySampler
from paredown.records.events import RequestEvents
from paredown.testing.scripted_events import request


def probe(proc: Path, sizes_kb: list[int], failure: str = "") -> tuple[int | None, str]:
    directory = proc / "7"
    directory.mkdir()
    (directory / "stat").write_text("7 (engine) S 1 1 1 0")
    ticks = itertools.count(step=1_000_000)
    sampler = MemorySampler(proc=proc, root_process=0, now_ns=lambda: next(ticks))
    (directory / "stat").write_text("7 (engine) S 0 1 1 0")

    def answer() -> RequestEvents:
        times = []
        for size in sizes_kb:
            (directory / "smaps_rollup").write_text(f"Pss: {size} kB\n")
            taken = sampler.sample()
            assert taken is not None
            times.append(taken.at_ns / 1e6)
        return request([times[0], times[-1]], tokens=[1, 99], failure=failure)

    found = probe_kv_cache(sampler, [7], answer)
    return found.growth_bytes, found.note


def test_steady_growth_is_the_cache_at_least(tmp_path: Path) -> None:
    grown, note = probe(tmp_path, [1000] + [1000 + 10 * i for i in range(1, 40)])

    assert grown == 390 * 1024
    assert "100 decoded tokens, at least" in note


def test_an_engine_that_reserves_its_cache_does_not_grow(tmp_path: Path) -> None:
    grown, note = probe(tmp_path, [1000] * 10)

    assert grown is None
    assert "did not grow steadily over 100" in note


def test_an_answer_that_failed_says_nothing_of_memory(tmp_path: Path) -> None:
    assert probe(tmp_path, [1000, 2000, 3000, 4000], failure="timeout")[1] == "the long answer failed (timeout)"
