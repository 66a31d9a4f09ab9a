"""Bytes, bits and joules: read from the record, and missing where the record has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import Evidence
from paredown.records.artifact import Artifact
from paredown.records.events import Energy, Memory, Trial
from paredown.records.figure import Figure
from paredown.testing.scripted_events import block, request, trial

ARTIFACT = Artifact(Path("x"), "hf", "d", weight_bytes=1000, disk_bytes=1500, parameters=500)


def figure(name: str, evidence: Evidence) -> Figure:
    found = registry.metric(name).compute(evidence)
    assert isinstance(found, Figure)
    return found


@pytest.mark.parametrize(("name", "value"), [("weight_bytes", 1000), ("disk_bytes", 1500), ("bits_per_parameter", 16)])
def test_sizes_come_from_the_artifact(name: str, value: float) -> None:
    assert figure(name, Evidence(artifact=ARTIFACT)).value == value
    assert figure(name, Evidence()).missing == "the candidate has no artifact"


def with_memories(*memories: Memory) -> Trial:
    return trial(*(block(request([1, 2]), index=i, memory=memory) for i, memory in enumerate(memories)))


def test_peak_memory_is_the_largest_of_all_blocks() -> None:
    memory = Memory(peak_bytes=10, sample_period_ms=100, samples=5, high_water_bytes=12)
    peak = figure("peak_memory", Evidence(with_memories(memory, replace(memory, peak_bytes=30), memory)))

    assert (peak.value, peak.count) == (30, 3)
    assert "every 100 ms" in peak.note
    assert "12 B" in peak.note


def test_parts_of_memory_that_were_not_separated_are_missing_with_the_reason() -> None:
    evidence = Evidence(
        with_memories(
            Memory(10, 100, 5, weights_bytes=7, note="weights: x; KV cache: not separated, the long answer failed")
        )
    )

    assert figure("weights_memory", evidence).value == 7
    assert figure("kv_cache_memory", evidence).value is None
    assert figure("kv_cache_memory", evidence).missing == "not separated, the long answer failed"


def test_memory_that_nobody_sampled_is_missing() -> None:
    for name in ("peak_memory", "weights_memory", "kv_cache_memory"):
        assert figure(name, Evidence(trial(block(request([1, 2]))))).value is None


def test_energy_is_joules_over_tokens_and_never_zero_by_default() -> None:
    measured = replace(block(request([1, 2], tokens=[1, 3])), energy=Energy(8.0, 6.0, "RAPL package-0"))
    without = replace(measured, energy=Energy(None, 6.0, missing="no counter here"))

    assert figure("energy", Evidence(trial(measured))).value == pytest.approx(2.0)
    assert "RAPL package-0" in figure("energy", Evidence(trial(measured))).note
    assert figure("energy", Evidence(trial(without))).value is None
    assert figure("energy", Evidence(trial(without))).missing == "no counter here"
