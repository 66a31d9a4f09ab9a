"""The growth of memory while one answer is decoded, from samples of a /proc that was written by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

from paredown.hosts.scoring_client import HostInfo
from paredown.measure.kv_probe import KvProbe, kv_part, probe_kv_cache
from paredown.measure.memory import KvPart, MemorySampler
from paredown.records.events import RequestEvents
from paredown.testing.scripted_events import request


def probe(proc: Path, sizes_kb: list[int], failure: str = "") -> KvProbe:
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

    return probe_kv_cache(sampler, [7], answer)


def test_steady_growth_is_taken_for_the_cache(tmp_path: Path) -> None:
    found = probe(tmp_path, [1000] + [1000 + 10 * i for i in range(1, 40)])

    assert found.growth_bytes == 390 * 1024
    assert found.tokens == 99  # the first one was there when the growth began
    assert "100 decoded tokens, near" in found.note


def test_an_engine_that_reserves_its_cache_does_not_grow(tmp_path: Path) -> None:
    found = probe(tmp_path, [1000] * 10)

    assert found.growth_bytes is None
    assert "did not grow steadily over 100" in found.note


def test_an_answer_that_failed_says_nothing_of_memory(tmp_path: Path) -> None:
    assert probe(tmp_path, [1000, 2000, 3000, 4000], failure="timeout").note == "the long answer failed (timeout)"


def host(kv_bytes: int | None, kv_tokens: int | None) -> HostInfo:
    return HostInfo(0, 1, 512, (), kv_bytes=kv_bytes, kv_tokens=kv_tokens)


def test_the_engines_own_count_is_the_figure_and_growth_stands_beside_it() -> None:
    part = kv_part(KvProbe(9900, "growth over 100 decoded tokens", 99), host(44_000, 400))

    assert (part.total_bytes, part.bytes_per_token) == (44_000, 110.0)
    assert part.note == (
        "the engine's own count at its largest, 400 positions (memory grew by 100 bytes a token, growth over 100 "
        "decoded tokens)"
    )


def test_without_a_count_of_its_own_growth_is_the_figure() -> None:
    probe = KvProbe(9900, "growth over 100 decoded tokens", 99)

    assert kv_part(probe, None) == KvPart(9900, 100.0, "growth over 100 decoded tokens")
    assert kv_part(probe, host(None, None)) == KvPart(9900, 100.0, "growth over 100 decoded tokens")
    assert kv_part(KvProbe(None, "no long answer"), host(0, 0)) == KvPart(None, None, "no long answer")
